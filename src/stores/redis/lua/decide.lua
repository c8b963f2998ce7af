-- decide: evaluates groups of charges, each atomically: when every enforcing charge of a group fits, all that fit are
-- charged; when one does not, none is. Groups are taken in order, and a counter is read and written once, however many
-- charges of the batch name it.
--
-- KEYS[i]  a counter, each once
-- ARGV[1]  the time in ms; empty for the server's own
-- ARGV[2]  how many limits follow
-- ARGV[…]  each limit as one text: algorithm, limit, window, capacity, per_ms, per_hit, quantum, count_denied, edges…
-- ARGV[n]  the groups, packed: u16 charges, and for each charge
--            u16 key (from 1), u16 limit (from 1), double cost, u8 flags, 8 bytes lease
--          flags: 1 enforce, 2 quota, 4 keep (else look only), 8 the lease is one
--
-- Reply    the verdicts, packed, in order: u8 code (0 allowed, 1 refused, 2 impossible), u32 remaining,
--          double resetAfterMs, double waitMs

local NEVER = -math.huge
local NO_LEASE = string.rep('\0', 8)

--- @include "windows"
--- @include "buckets"
--- @include "logs"

local NUMBERS = {
  s = { sliding_window, '<dI4I4' },
  t = { token_bucket, '<dd' },
  g = { gcra, '<d' },
  l = { leaky_bucket, '<d' },
  f = { fixed_window, '<dI4' },
}

local now = tonumber(ARGV[1])
-- A time that was handed in (by a test) does not pass as the server's does, so keys must not expire by the server's.
local grace = 600000
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
  grace = 0
end

local function parse_limit(text)
  local words = {}
  for word in string.gmatch(text, '%S+') do words[#words + 1] = word end
  local number = function(i) return tonumber(words[i]) end
  local L = {
    limit = number(2), window = number(3), capacity = number(4), per_ms = number(5), per_hit = number(6),
    quantum = number(7), count_denied = words[8] == '1',
  }
  L.full = L.capacity * L.per_hit
  L.holders = words[1] == 'c'
  L.is_log = L.holders or words[1] == 'x'
  if not L.is_log then
    L.run, L.format = NUMBERS[words[1]][1], NUMBERS[words[1]][2]
    L.size = struct.size(L.format)
  end
  if words[9] then
    L.edges = {}
    for i = 9, #words do L.edges[i - 8] = number(i) end
  end
  return L
end

local limit_count = tonumber(ARGV[2])
local limits = {}
for i = 1, limit_count do limits[i] = parse_limit(ARGV[2 + i]) end
local packed = ARGV[3 + limit_count]

-- The counters, by their number in KEYS. All are read in one call, taken apart when first needed, and written once at the
-- end: numbers in at, first, second; logs in records and hits. expires is set for those that changed.
local raws = {}
for i = 1, #KEYS, 1000 do
  local part = redis.call('MGET', unpack(KEYS, i, math.min(i + 999, #KEYS)))
  for j = 1, #part do raws[i + j - 1] = part[j] end
end
local owner, at, first, second, records, hits, expires = {}, {}, {}, {}, {}, {}, {}
-- When a window that has hits expires, as it is stored. Further hits do not move that, and
-- to leave the server's expiry as it is saves a third of the cost of the write.
local stored_until = {}

local function open(k, L)
  owner[k] = L
  local raw = raws[k]
  if L.is_log then
    if raw and #raw % RECORD == 4 then
      hits[k], records[k] = struct.unpack('<I4', raw), string.sub(raw, 5)
    else
      hits[k], records[k] = 0, ''
    end
    return
  end
  at[k], first[k], second[k] = NEVER, 0, 0
  if not raw or #raw ~= L.size then return end
  -- struct.unpack ends its results with the next position, which is not part of the state.
  if L.size == 8 then
    at[k] = struct.unpack('<d', raw)
  elseif L.format == '<dI4I4' then
    at[k], first[k], second[k] = struct.unpack('<dI4I4', raw)
    if second[k] > 0 then stored_until[k] = at[k] + 2 * L.window end
  else
    at[k], first[k] = struct.unpack(L.format, raw)
    if L.run == fixed_window and first[k] > 0 then stored_until[k] = end_of(at[k], L) end
  end
end

-- evaluate: code, remaining, resetAfterMs, waitMs, expiresAtMs and the next state of a counter; nothing is kept.
local function evaluate(k, L, cost, lease)
  if L.is_log then return log(records[k], hits[k], L, now, cost, lease) end
  return L.run(at[k], first[k], second[k], L, now, cost)
end

-- is_kept: a refusal that is not charged costs no write, unless it found the state in need of one: a window that has
-- moved on, a bucket that was refilled, a clock that went back. What is worth nothing is removed if it was ever stored.
local function is_kept(k, L, code, expires_at, a, b, c)
  if expires_at <= now then return raws[k] or expires[k] end
  if code == 0 or L.count_denied then return true end
  if L.is_log then return a ~= records[k] end
  return a ~= at[k] or b ~= first[k] or c ~= second[k]
end

local function keep(k, L, expires_at, a, b, c)
  expires[k] = expires_at
  if L.is_log then
    records[k], hits[k] = a, b
  else
    at[k], first[k], second[k] = a, b, c
  end
end

-- A charge takes CHARGE bytes, of which the last 8 are its lease, if it has one: a text that nobody needs is not made.
local CHARGE = 21
local function lease_at(position, flags)
  if flags >= 8 then return string.sub(packed, position + 13, position + 20) end
end

local reply = {}

local function decide_one(position)
  local k, l, cost, flags = struct.unpack('<I2I2dB', packed, position)
  local L = limits[l]
  if not owner[k] then open(k, L) end
  local code, remaining, reset, wait, expires_at, a, b, c = evaluate(k, L, cost, lease_at(position, flags))
  if flags % 8 >= 4 and is_kept(k, L, code, expires_at, a, b, c) then keep(k, L, expires_at, a, b, c) end
  reply[#reply + 1] = struct.pack('<BI4dd', code, remaining, reset, wait)
  return position + CHARGE
end

local function decide_group(count, position)
  local charges, fitted = {}, {}
  local refused, quotas, quotas_refused = false, 0, 0
  for i = 1, count do
    local k, l, cost, flags = struct.unpack('<I2I2dB', packed, position)
    local lease = lease_at(position, flags)
    position = position + CHARGE
    local L = limits[l]
    if not owner[k] then open(k, L) end
    -- A counter that the group names twice is asked for the sum of what fits.
    local asked = cost + (fitted[k] or 0)
    local code, remaining, reset, wait = evaluate(k, L, asked, nil)
    if code == 0 then fitted[k] = asked end
    charges[i] = {
      k = k, L = L, cost = cost, asked = asked, flags = flags, lease = lease,
      code = code, remaining = remaining, reset = reset, wait = wait,
    }
    if flags % 2 == 1 then
      if flags % 4 >= 2 then
        quotas = quotas + 1
        if code ~= 0 then quotas_refused = quotas_refused + 1 end
      elseif code ~= 0 then
        refused = true
      end
    end
  end
  if quotas > 0 and quotas == quotas_refused then refused = true end
  for i = 1, count do
    local charge = charges[i]
    local k, L = charge.k, charge.L
    if refused and charge.code == 0 then
      -- What would have fitted was not charged, and its budget is told as it is.
      local _
      _, charge.remaining, charge.reset = evaluate(k, L, 0, nil)
      charge.wait = 0
    elseif charge.flags % 8 >= 4 then
      local cost = charge.cost
      if refused then cost = charge.asked end
      local _, _, _, _, expires_at, a, b, c = evaluate(k, L, cost, charge.lease)
      if is_kept(k, L, charge.code, expires_at, a, b, c) then keep(k, L, expires_at, a, b, c) end
    end
    reply[#reply + 1] = struct.pack('<BI4dd', charge.code, charge.remaining, charge.reset, charge.wait)
  end
  return position
end

local position, last = 1, #packed
while position <= last do
  local count
  count, position = struct.unpack('<I2', packed, position)
  if count == 1 then position = decide_one(position) else position = decide_group(count, position) end
end

-- Counters of one window expire together, and to spell a number is a good part of what a write costs.
local ttls = {}
for k, expires_at in pairs(expires) do
  local L = owner[k]
  if expires_at <= now then
    redis.call('DEL', KEYS[k])
  else
    local raw
    if L.is_log then
      raw = struct.pack('<I4', hits[k]) .. records[k]
    else
      raw = struct.pack(L.format, at[k], first[k], second[k])
    end
    if stored_until[k] == expires_at then
      redis.call('SET', KEYS[k], raw, 'KEEPTTL')
    else
      local ttl = ttls[expires_at]
      if not ttl then
        ttl = string.format('%.0f', expires_at - now + grace)
        ttls[expires_at] = ttl
      end
      redis.call('PSETEX', KEYS[k], ttl, raw)
    end
  end
end

return table.concat(reply)
