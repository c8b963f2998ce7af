-- renew: renews permits, as in stores/memory.
--
-- KEYS[i]  a counter of a concurrency limit, each once
-- ARGV[1]  the time in ms; empty for the server's own
-- ARGV[2]  how many limits follow
-- ARGV[…]  each limit as one text, as for decide
-- ARGV[n]  the permits, packed, permits of a counter one after the other and each once: u16 key (from 1), u16 limit
-- (from 1), u16
--          places that are taken again where their time is over, 8 bytes id
--
-- Reply    a byte for each, in order: 0 held, 1 taken again, 2 taken again without room, 3 lost

--- @include "libraries"
local function define()
--- @include "counters"

local RENEWAL = 14
local HELD, RETAKEN, OVERRUN, LOST = 0, 1, 2, 3

local limits, packed, reply

-- run_of: the position after the permits of the counter that stands at one; and these permits: id, places, and how many of them are
-- held, which is not known yet.
local function run_of(position, k)
  local wanted, by_id = {}, {}
  while position <= #packed do
    local key, _, places = struct.unpack('<I2I2I2', packed, position)
    if key ~= k then break end
    local each = { id = string.sub(packed, position + 6, position + 13), places = places, held = 0 }
    wanted[#wanted + 1], by_id[each.id] = each, each
    position = position + RENEWAL
  end
  return position, wanted, by_id
end

-- others_of: the records that stay as they are. Records of wanted permits are counted. The records of one permit stand
-- together, and the permits renewed first are mostly the oldest, which come first: when all are found, the rest is not
-- looked at.
local function others_of(all, start, wanted, by_id)
  local kept, run, missing = {}, start, #wanted
  for position = start, #all, RECORD do
    local each = by_id[string.sub(all, position + 8, position + 15)]
    if each then
      if each.held == 0 then missing = missing - 1 end
      each.held = each.held + 1
      if position > run then kept[#kept + 1] = string.sub(all, run, position - 1) end
      run = position + RECORD
    elseif missing == 0 then
      break
    end
  end
  kept[#kept + 1] = string.sub(all, run)
  return moved_back(table.concat(kept), 1, now)
end

local function renew(k, L, wanted, by_id)
  open(k, L)
  local start, held = drop_while(records[k], hits[k], now - L.window, 0, true)
  local parts = { others_of(records[k], start, wanted, by_id) }
  local time = pack('<d', now)
  for i = 1, #wanted do
    local each = wanted[i]
    local code, places = HELD, each.held
    if places == 0 then
      places = each.places
      code = places == 0 and LOST or held + places <= L.limit and RETAKEN or OVERRUN
      held = held + places
    end
    if places > 0 then parts[#parts + 1] = string.rep(time .. each.id, places) end
    reply[#reply + 1] = string.char(code)
  end
  -- A counter at which nothing was renewed stays as it is.
  if #parts > 1 then keep(k, L, now + L.window, table.concat(parts), held) end
end

local function main(keys, args)
  if is_function then KEYS, ARGV = keys, args end
  use_libraries()
  begin(#KEYS, ARGV[1])
  local limit_total = tonumber(ARGV[2])
  limits, packed, reply = {}, ARGV[3 + limit_total], {}
  for i = 1, limit_total do limits[i] = limit_of(ARGV[2 + i]) end
  read(#KEYS)
  local position = 1
  while position <= #packed do
    local k, l = struct.unpack('<I2I2', packed, position)
    local wanted, by_id
    position, wanted, by_id = run_of(position, k)
    renew(k, limits[l], wanted, by_id)
  end
  write_all(1, #KEYS)
  return table.concat(reply)
end

return main
end
return define()(KEYS, ARGV)
