-- release: gives permits back.
--
-- KEYS[i]  a counter of a concurrency limit
-- ARGV[1]  the id of the permits, 8 bytes
--
-- Reply    how many permits were given back

local RECORD = 16
local given_back = 0

for _, key in ipairs(KEYS) do
  -- What cannot be a log (something of another type is an error here) holds no permits; the next decision repairs it.
  local raw = redis.pcall('GET', key)
  if type(raw) == 'string' and #raw % RECORD == 4 then
    local parts = {}
    local held = 0
    for at = 5, #raw, RECORD do
      if string.sub(raw, at + 8, at + 15) == ARGV[1] then
        held = held + 1
      else
        parts[#parts + 1] = string.sub(raw, at, at + RECORD - 1)
      end
    end
    if held > 0 then
      given_back = given_back + held
      if #parts == 0 then
        redis.call('DEL', key)
      else
        redis.call('SET', key, struct.pack('<I4', #parts) .. table.concat(parts), 'KEEPTTL')
      end
    end
  end
end

return given_back
