-- exchange: takes the accounts of holders of slices and lends to them, as in stores/lending/slice-book.ts. Exchanges are taken
-- in order.
--
-- KEYS[i]    a counter, each once: the first third of KEYS
-- KEYS[n+i]  the head of its book, see heads
-- KEYS[m+i]  its book: a hash. Each field is a holder: struct <dddd: sequence, spent, held, when it ends
-- ARGV[1]    the time in ms; empty for the server's own
-- ARGV[2]    how many limits follow
-- ARGV[…]    each limit as one text, as for decide
-- ARGV[…]    the exchanges, packed, for each: u16 counter (from 1), u16 limit (from 1), then doubles: sequence, spent,
--            confirmed, keep, need, ahead, cost, leaseMs
-- ARGV[…]    the holders, in the order of the exchanges
--
-- Reply      packed, in order: u8 stale, then doubles: held, free, holders, resetAfterMs, retryAfterMs, lentRetryAfterMs

--- @include "libraries"
local function define()
--- @include "counters"
--- @include "heads"

local limits, packed, counters, reply
-- The heads of the books that this call has to do with, by counter. They are written once, at the end.
local heads

local AHEAD_SHARE = 4
local HOLDER = '<dddd'

local function look(k, L, cost)
  local _, remaining, reset, wait = evaluate(k, L, now, cost, nil)
  return remaining, reset, wait
end

-- charge: what was admitted already, whether it fits or not.
local function charge(k, L, cost, time)
  if L.capacity == 0 then return end
  local forced = L.forced
  if not forced then
    forced = copy_of(L)
    forced.count_denied = true
    L.forced = forced
  end
  local _, _, _, _, expires_at, a, b, c = evaluate(k, forced, time, cost, nil)
  keep(k, L, expires_at, a, b, c)
end

-- horizon: for how long a charge matters.
local function horizon(L)
  if L.per_ms > 0 then return math.ceil(L.full / L.per_ms) end
  return 2 * L.window
end

-- read_holder: the numbers of a holder, or nothing for what cannot be one.
local function read_holder(raw)
  if not raw or #raw ~= 32 then return end
  local sequence, spent, held, ends = struct.unpack(HOLDER, raw)
  if is_finite(sequence) and is_finite(spent) and is_amount(held) and is_time(ends) then
    return sequence, spent, held, ends
  end
end

local function head_of(k)
  local B = heads[k]
  if B then return B end
  B = { out = 0, holders = 0, next = math.huge, touched = NEVER, matters = 0 }
  local out, holders, next_end, touched, matters = read_head(raws[counters + k])
  if out then B.out, B.holders, B.next, B.touched, B.matters = out, holders, next_end, touched, matters end
  B.is_known = out ~= nil
  heads[k] = B
  return B
end

local function write_heads()
  for k, B in pairs(heads) do
    local head = struct.pack(HEAD, B.out, B.holders, B.next, B.touched, B.matters)
    redis.call('PSETEX', KEYS[counters + k], string.format('%.0f', B.matters - now + grace), head)
  end
end

-- read_known: the field of a holder. A book that is invalid (of another type, without its head, or with a malformed
-- holder) is removed: its holders report again what they have spent.
local function read_known(book, B, holder)
  if B.is_known then
    local known = redis.pcall('HGET', book, holder)
    if not known or (type(known) == 'string' and read_holder(known)) then return known end
  end
  redis.call('DEL', book)
end

-- settle: charges what ran out, at the moment it did.
local function settle(book, B, k, L)
  if B.next > now and now >= B.touched then return end
  local set_back = math.max(0, B.touched - now)
  local fields = redis.call('HGETALL', book)
  local ended = {}
  B.out, B.holders, B.next = 0, 0, math.huge
  for i = 1, #fields, 2 do
    local sequence, spent, held, ends = read_holder(fields[i + 1])
    if ends then ends = ends - set_back end
    if not ends then
      redis.call('HDEL', book, fields[i])
    elseif ends <= now then
      ended[#ended + 1] = { name = fields[i], held = held, ends = ends }
    else
      B.out = B.out + held
      if held > 0 then B.holders = B.holders + 1 end
      B.next = math.min(B.next, ends)
      if set_back > 0 then redis.call('HSET', book, fields[i], struct.pack(HOLDER, sequence, spent, held, ends)) end
    end
  end
  table.sort(ended, function(one, other) return one.ends < other.ends end)
  for _, holding in ipairs(ended) do
    redis.call('HDEL', book, holding.name)
    if holding.held > 0 then charge(k, L, holding.held, math.min(math.max(holding.ends, B.touched), now)) end
  end
end

local function granted(need, ahead, keep_held, free, others)
  if free <= 0 then return 0 end
  local needed = math.min(need, free)
  local share = math.floor((free - needed) / (AHEAD_SHARE * (1 + others)))
  return needed + math.max(0, math.min(ahead, share - keep_held))
end

local function reply_with(k, L, B, stale, held, others, cost)
  local _, remaining, _, _, expires_at, a, b, c = evaluate(k, L, now, 0, nil)
  if expires_at <= now and raws[k] then keep(k, L, expires_at, a, b, c) end
  local free = math.max(0, remaining - B.out)
  local reset
  _, reset = look(k, L, math.min(B.out, remaining))
  local retry, lent_retry = 0, 0
  if free < cost then
    _, _, retry = look(k, L, cost)
    _, _, lent_retry = look(k, L, cost + B.out)
  end
  reply[#reply + 1] = struct.pack('<Bdddddd', stale, held, free, 1 + others, reset, retry, lent_retry)
end

local function exchange(position, holder)
  local k, l, sequence, spent, confirmed, kept, need, ahead, cost, lease =
    struct.unpack('<I2I2dddddddd', packed, position)
  local L = limits[l]
  local book = KEYS[2 * counters + k]
  if not owner[k] then open(k, L) end
  local B = head_of(k)
  local known = read_known(book, B, holder)
  if B.next <= now or now < B.touched then
    settle(book, B, k, L)
    known = redis.call('HGET', book, holder)
  end
  B.touched = now
  local known_sequence, known_spent, known_held
  if known then known_sequence, known_spent, known_held = read_holder(known) end
  local others = B.holders
  if known and known_held > 0 then others = others - 1 end
  if known and sequence <= known_sequence then
    reply_with(k, L, B, 1, known_held, others, cost)
    return
  end
  local reported = spent - (known_spent or confirmed)
  if reported > 0 then charge(k, L, reported, now) end
  B.out = math.max(B.out - (known_held or 0), 0)
  local free = math.max(0, look(k, L, 0) - B.out)
  kept = math.min(kept, known and math.max(0, known_held - reported) or free)
  local held = kept + granted(need, ahead, kept, free - kept, others)
  local ends = now + 2 * lease
  B.out = B.out + held
  B.holders = others
  if held > 0 then B.holders = others + 1 end
  B.next = math.min(B.next, ends)
  B.matters = math.max(B.matters, ends + horizon(L))
  B.is_known = true
  redis.call('HSET', book, holder, struct.pack(HOLDER, sequence, spent, held, ends))
  redis.call('PEXPIRE', book, string.format('%.0f', B.matters - now + grace))
  reply_with(k, L, B, 0, held, others, cost)
end

local EXCHANGE = 68

local function main(keys, args)
  if is_function then KEYS, ARGV = keys, args end
  use_libraries()
  begin(#KEYS, ARGV[1])
  local limit_total = tonumber(ARGV[2])
  limits, packed, counters, reply, heads = {}, ARGV[3 + limit_total], #KEYS / 3, {}, {}
  for i = 1, limit_total do limits[i] = limit_of(ARGV[2 + i]) end
  read(2 * counters)
  for i = 0, #packed / EXCHANGE - 1 do exchange(1 + i * EXCHANGE, ARGV[4 + limit_total + i]) end
  write_all(1, #KEYS)
  write_heads()
  return table.concat(reply)
end

return main
end
return define()(KEYS, ARGV)
