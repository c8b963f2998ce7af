-- The least that counts: KEYS[1] the counter; ARGV: the cost, the window in ms.
local used = redis.call('INCRBY', KEYS[1], ARGV[1])
if used == tonumber(ARGV[1]) then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return used
