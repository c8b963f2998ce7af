-- decide-node: decides groups as decide does, of several partitions that one node of a cluster serves. They come in sections,
-- one for each partition. A section whose slot has moved, or is moving and not all of its keys are here, is left alone: its
-- first command fails, and nothing was done yet. All commands of a section stand together, because servers from 7.4 on look for a key of
-- a moving slot in the slot of the command before.
--
-- KEYS[…]  none: the keys that a call declares must share a slot
-- ARGV[…]  the keys, as in decide, section by section
-- ARGV[…]  the time, how many limits follow, the limits, and the groups, packed: all as in decide
-- ARGV[n]  the sections, packed: u16 keys, u16 groups
--
-- Reply    a byte for each section: 1 decided, 0 left alone; and the verdicts of the decided sections, as in decide

--- @include "libraries"
local function define()
--- @include "charges"

-- read_here: the states of the counters from one to another, and whether they are here.
local function read_here(from, to)
  for i = from, to, 1000 do
    local part = redis.pcall('MGET', unpack(KEYS, i, math.min(i + 999, to)))
    if part.err then return false end
    for j = 1, #part do raws[i + j - 1] = part[j] end
  end
  return true
end

-- skipped: where the groups end that begin at a position.
local function skipped(position, groups)
  for _ = 1, groups do position = position + 2 + CHARGE * struct.unpack('<I2', packed, position) end
  return position
end

local function main(_, args)
  use_libraries()
  KEYS = args
  local sections, total = KEYS[#KEYS], 0
  for at = 1, #sections, 4 do total = total + struct.unpack('<I2', sections, at) end
  if begin(total, KEYS[total + 1]) then fitted, named = {}, {} end
  local limit_total = tonumber(KEYS[total + 2])
  for i = 1, limit_total do limits[i] = limit_of(KEYS[total + 2 + i]) end
  packed, reply, replies = KEYS[total + 3 + limit_total], {}, 0
  local places, from, position = {}, 1, 1
  for at = 1, #sections, 4 do
    local count, groups = struct.unpack('<I2I2', sections, at)
    local to = from + count - 1
    if read_here(from, to) then
      places[#places + 1] = '\1'
      for _ = 1, groups do position = decide_next(position) end
      write_all(from, to)
    else
      places[#places + 1] = '\0'
      position = skipped(position, groups)
    end
    from = to + 1
  end
  return table.concat(places) .. table.concat(reply)
end

return main
end
return define()(KEYS, ARGV)
