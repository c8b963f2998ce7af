-- decide: evaluates groups of charges, each atomically: when every enforcing charge of a group fits, all that fit are
-- charged; when one does not, none is. Groups are taken in order, and a counter is read and written once, however many
-- charges of the batch name it.
--
-- KEYS[i]  a counter, or the head of its book (see heads), each once
-- ARGV[1]  the time in ms; empty for the server's own
-- ARGV[2]  how many limits follow
-- ARGV[…]  each limit as one text: algorithm, limit, window, capacity, per_ms, per_hit, quantum, count_denied, edges…
-- ARGV[n]  the groups, packed: u16 charges, and for each charge
--            u16 key (from 1), u16 limit (from 1), double cost, u8 flags, 8 bytes id of the permits
--          flags: 1 enforce, 2 quota, 4 keep (else look only), 8 the id is one, 16 a late charge, which is made
--          whether it fits or not, into a debt of one budget at the most, 32 slices of the counter may be lent: what is
--          out counts as spent, and the id begins with a u16, the key of the head of its book; 64 that key is the next
--          after the counter's
--
-- Reply    the verdicts, packed, in order: u8 code (0 allowed, 1 refused, 2 impossible, 3 refused because of what is
--          lent: the book knows more), u32 remaining, double resetAfterMs, double waitMs; of a late charge code 0, and
--          instead of waitMs what was dropped

--- @include "charges"

-- decide_lone: the one charge of a call, which is what calls of a quiet service are: without the tables of a batch. It does
-- what decide_one does.
local function decide_lone(L, cost, flags)
  read_time(ARGV[1])
  ttls = nil
  local key = KEYS[1]
  local raw = redis.pcall('GET', key)
  if type(raw) ~= 'string' then raw = nil end
  local start, one, two, stored = numbers_of(raw, L)
  local code, remaining, reset, wait, expires_at, a, b, c = L.run(start, one, two, L, now, cost)
  if flags % 8 >= 4 then
    if expires_at <= now then
      if raw then redis.call('DEL', key) end
    elseif code == 0 or L.count_denied or a ~= start or b ~= one or c ~= two then
      write(key, spell_numbers(L, a, b, c), expires_at, stored)
    end
  end
  return struct.pack('<BI4dd', code, remaining, reset, wait)
end

-- decide_few: the one group of a call, when it asks counters for costs, each once, and nothing else: then it does what
-- decide_group does. Otherwise it returns nothing, and has done nothing.
local function decide_few(count)
  read_time(ARGV[1])
  ttls = nil
  local stored = redis.call('MGET', unpack(KEYS))
  local refused, quotas, quotas_refused = false, 0, 0
  for i = 1, count do
    local k, l, cost, flags = struct.unpack('<I2I2dB', packed, 3 + (i - 1) * CHARGE)
    local L, charge = limits[l], charges[i]
    if k ~= i or flags >= 8 or L.is_log then return nil end
    if not charge then
      charge = {}
      charges[i] = charge
    end
    local start, one, two, stored_end = numbers_of(stored[i], L)
    local code, remaining, reset, wait, expires_at, a, b, c = L.run(start, one, two, L, now, cost)
    if flags % 2 == 1 then
      if flags % 4 >= 2 then
        quotas = quotas + 1
        if code ~= 0 then quotas_refused = quotas_refused + 1 end
      elseif code ~= 0 then
        refused = true
      end
    end
    charge.L, charge.code, charge.remaining, charge.reset, charge.wait = L, code, remaining, reset, wait
    charge.start, charge.one, charge.two, charge.stored_end = start, one, two, stored_end
    charge.is_kept = flags >= 4
      and (code == 0 or expires_at <= now or L.count_denied or a ~= start or b ~= one or c ~= two)
    charge.expires_at, charge.a, charge.b, charge.c = expires_at, a, b, c
  end
  if quotas > 0 and quotas == quotas_refused then refused = true end
  for i = 1, count do
    local charge = charges[i]
    local L, code = charge.L, charge.code
    if refused and code == 0 then
      local _
      _, charge.remaining, charge.reset = L.run(charge.start, charge.one, charge.two, L, now, 0)
      charge.wait = 0
    elseif charge.is_kept then
      local expires_at = charge.expires_at
      if expires_at > now then
        write(KEYS[i], spell_numbers(L, charge.a, charge.b, charge.c), expires_at, charge.stored_end)
      elseif stored[i] then
        redis.call('DEL', KEYS[i])
      end
    end
    reply[i] = struct.pack('<BI4dd', code, charge.remaining, charge.reset, charge.wait)
  end
  return table.concat(reply, '', 1, count)
end

local LONE = 2 + CHARGE

local function main()
  use_libraries()
  packed = ARGV[4]
  if packed and #packed == LONE and not ARGV[5] then
    local cost, flags = struct.unpack('<dB', packed, 7)
    local L = limit_of(ARGV[3])
    if flags < 16 and not L.is_log then return decide_lone(L, cost, flags) end
  end
  local limit_total = tonumber(ARGV[2])
  packed = ARGV[3 + limit_total]
  for i = 1, limit_total do limits[i] = limit_of(ARGV[2 + i]) end
  local few = #KEYS
  if few <= SMALL and #packed == 2 + few * CHARGE and string.byte(packed) == few then
    local verdicts = decide_few(few)
    if verdicts then return verdicts end
  end
  if begin(#KEYS, ARGV[1]) then fitted, named = {}, {} end
  reply = {}
  read(#KEYS)
  local position, last = 1, #packed
  while position <= last do position = decide_next(position) end
  write_all(1, #KEYS)
  return table.concat(reply)
end

return main()
