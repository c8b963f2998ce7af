-- throttle: counts a hit, each of which expires separately, and blocks a key that has had too many: for as long as a block
-- lasts, or, without blocks, until the oldest hit is forgotten. Hits that are refused are not kept.
--
-- KEYS[1]  the counter
-- ARGV[1]  the time in ms; empty for the server's own
-- ARGV[2]  how long a hit is remembered, in ms
-- ARGV[3]  the limit
-- ARGV[4]  how long a block lasts, in ms; 0 for none
-- ARGV[5]  `log` to remember each hit; `count` only how many, all of which are forgotten together with the first one
--
-- Reply    hits (with this one), ms until the window ends, 1 when blocked, ms until that ends
--
-- State    double end of the window, double end of the block (0: none), double end of what is counted, u32 count;
--          then double end of each hit

local key = KEYS[1]
local now = tonumber(ARGV[1])
local grace = 600000
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
  grace = 0
end
local ttl, limit, block = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local is_log = ARGV[5] == 'log'

local HEADER = 28
local window_ends, block_ends, count_ends, count, hits = 0, 0, 0, 0, ''
-- soonest: an end as it is stored, but no later than it can be, in case a clock was set back or another program wrote
-- into the key. What is not a number has passed.
local function soonest(ends, span)
  if ends ~= ends then return 0 end
  return math.min(ends, now + span)
end

local raw = redis.pcall('GET', key)
if type(raw) == 'string' and #raw >= HEADER and (#raw - HEADER) % 8 == 0 then
  window_ends, block_ends, count_ends, count = struct.unpack('<dddI4', raw)
  window_ends, block_ends = soonest(window_ends, ttl), soonest(block_ends, math.max(block, ttl))
  count_ends = soonest(count_ends, ttl)
  hits = string.sub(raw, HEADER + 1)
end
if window_ends <= now then window_ends = now + ttl end

-- When the first of the hits is forgotten, and when the last thing that is to be remembered is.
local oldest, latest = math.huge, window_ends
if not is_log then
  if count_ends <= now then count = 0 end
  if count > 0 then oldest, latest = count_ends, math.max(latest, count_ends) end
else
  local kept = {}
  for at = 1, #hits, 8 do
    local ends = soonest((struct.unpack('<d', hits, at)), ttl)
    if ends > now then
      kept[#kept + 1] = struct.pack('<d', ends)
      oldest, latest = math.min(oldest, ends), math.max(latest, ends)
    end
  end
  count, hits = #kept, table.concat(kept)
end
if oldest == math.huge then oldest = window_ends end

local total, wait = 0, 0
if block_ends > now then
  total, wait = limit + 1, block_ends - now
elseif count < limit then
  if count == 0 then count_ends = now + ttl end
  block_ends, count = 0, count + 1
  total, latest = count, math.max(latest, now + ttl)
  if is_log then hits = hits .. struct.pack('<d', now + ttl) end
else
  total, wait, block_ends = limit + 1, oldest - now, 0
  if block > 0 then
    -- A blocked key starts again afterwards.
    wait, block_ends, count, hits = block, now + block, 0, ''
  end
end

latest = math.max(latest, block_ends)
local state = struct.pack('<dddI4', window_ends, block_ends, count_ends, count) .. hits
redis.call('PSETEX', key, string.format('%.0f', math.max(latest - now, 1) + grace), state)
local is_blocked = 0
if wait > 0 then is_blocked = 1 end
return { total, math.ceil(window_ends - now), is_blocked, math.ceil(wait) }
