-- sample: takes what nodes report of sampled counters, and returns what all of them report. Reports are taken in order.
--
-- KEYS[i]  what is reported of a counter, each once: a hash. The field of a node: struct <ddd: hits that are offered to it
--          in a ms, all that it admitted, when its report ends. The field '.': struct <dddd: what the bucket of all nodes
--          holds, when that was, what is offered to all nodes in a ms, when that was added up
-- ARGV[1]  the time in ms; empty for the server's own
-- ARGV[2]  the reports, packed, for each: u16 counter (from 1), then doubles: offered a ms, admitted, the part of that which
--          no answer has confirmed, refill a ms, burst, life in ms
-- ARGV[…]  the nodes, in the order of the reports
--
-- Reply    packed, in order: doubles: offered to all a ms, what the bucket holds

local packed = ARGV[2]
local now, grace = tonumber(ARGV[1]), 0
if now then
  -- A time that was handed in does not pass as the server's does, so keys must not expire by the server's.
  grace = 86400000
else
  local time = redis.call('TIME')
  now = math.floor(time[1] * 1000 + time[2] / 1000)
end

local HEAD = '.'
local REPORT = 50
-- Reports of nodes are added up again after this long: what has ended is left out then.
local SUM_MS = 100

local function is_amount(x) return x - x == 0 end

local function read_node(raw)
  if not raw or #raw ~= 24 then return end
  local offered, admitted, ends = struct.unpack('<ddd', raw)
  if is_amount(offered) and offered >= 0 and is_amount(admitted) and is_amount(ends) then return offered, admitted, ends end
end

-- read_head: without one that makes sense, the bucket is full, and nothing was added up.
local function read_head(raw, burst)
  if raw and #raw == 32 then
    local level, touched, sum, summed = struct.unpack('<dddd', raw)
    if is_amount(level) and is_amount(touched) and is_amount(sum) and is_amount(summed) then
      return level, touched, sum, summed
    end
  end
  return burst, now, 0, 0
end

-- sum_of: what all nodes are offered by the reports that have not ended.
local function sum_of(key)
  local fields, sum, ended = redis.call('HGETALL', key), 0, {}
  for i = 1, #fields, 2 do
    if fields[i] ~= HEAD then
      local offered, _, ends = read_node(fields[i + 1])
      if offered and ends > now then sum = sum + offered else ended[#ended + 1] = fields[i] end
    end
  end
  for i = 1, #ended, 500 do redis.call('HDEL', key, unpack(ended, i, math.min(i + 499, #ended))) end
  return sum
end

local function report(position, node)
  local k, offered, admitted, recent, refill, burst, life = struct.unpack('<I2dddddd', packed, position)
  local key = KEYS[k]
  local raw = redis.pcall('HMGET', key, HEAD, node)
  if raw.err then
    redis.call('DEL', key)
    raw = {}
  end
  local level, touched, sum, summed = read_head(raw[1], burst)
  local known_offered, known_admitted = read_node(raw[2])
  -- The clock was set back: reports would stand for longer than their life.
  if now < summed then
    redis.call('DEL', key)
    known_offered, summed = nil, 0
  end
  level = math.min(burst, level + math.max(0, now - touched) * refill)
  local more = known_admitted and math.min(admitted - known_admitted, recent) or recent
  level = math.max(-burst, math.min(burst, level - more))
  redis.call('HSET', key, node, struct.pack('<ddd', offered, admitted, now + life))
  if now - summed >= SUM_MS then
    sum, summed = sum_of(key), now
  else
    sum = math.max(offered, sum + offered - (known_offered or 0))
  end
  redis.call('HSET', key, HEAD, struct.pack('<dddd', level, now, sum, summed))
  local ttl = math.max(life, refill > 0 and (burst - level) / refill or 0)
  redis.call('PEXPIRE', key, string.format('%.0f', math.ceil(ttl) + grace))
  return struct.pack('<dd', sum, level)
end

local reply = {}
for i = 0, #packed / REPORT - 1 do reply[#reply + 1] = report(1 + i * REPORT, ARGV[3 + i]) end
return table.concat(reply)
