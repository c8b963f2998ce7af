-- count: counts hits in a window that begins with the first one. Hits beyond `most` make the window longer: each restarts
-- it, or doubles it.
--
-- KEYS[1]  the counter, a plain number that expires with its window
-- ARGV[1]  the window in ms
-- ARGV[2]  how many hits leave the window as it is
-- ARGV[3]  what one more does: `restart` or `double`
-- ARGV[4]  how many hits to count; 0 only looks
--
-- Reply    the count, and in how many ms it is forgotten

local key = KEYS[1]
local window, most = tonumber(ARGV[1]), tonumber(ARGV[2])
local doubles = ARGV[3] == 'double'
local hits = tonumber(ARGV[4])

-- 2^53 - 1: the largest that both sides represent exactly.
local LONGEST = 9007199254740991

-- What cannot be a count (a text, less than nothing, something of another type) is as if nothing were stored.
if hits == 0 then
  local raw = redis.pcall('GET', key)
  local count = type(raw) == 'string' and string.match(raw, '^%d+$') and math.min(tonumber(raw), LONGEST) or 0
  return { count, math.max(redis.call('PTTL', key), 0) }
end

local count = redis.pcall('INCRBY', key, hits)
if type(count) ~= 'number' or (hits > 0 and count < hits) then
  redis.call('DEL', key)
  count = redis.call('INCRBY', key, hits)
end
local over = count - most
local left = redis.call('PTTL', key)
if left >= 0 and over <= 0 then return { count, left } end

if over > 0 and doubles then window = math.min(window * 2 ^ (over - 1), LONGEST) end
redis.call('PEXPIRE', key, string.format('%.0f', window))
return { count, window }
