-- The textbook sliding window, for one decision: a counter for this window and one for the window before, whose weight
-- fades. KEYS: this window, the one before. ARGV: the limit, the window in ms, the time in ms.
local limit, window, now = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local current = tonumber(redis.call('GET', KEYS[1]) or '0')
local previous = tonumber(redis.call('GET', KEYS[2]) or '0')
local used = current + previous * (1 - (now % window) / window)
if used + 1 > limit then return { 0, 0 } end
current = redis.call('INCR', KEYS[1])
if current == 1 then redis.call('PEXPIRE', KEYS[1], 2 * window) end
return { 1, math.floor(limit - used - 1) }
