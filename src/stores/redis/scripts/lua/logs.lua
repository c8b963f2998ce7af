-- The logs, as in core/algorithms/sliding-log.ts and concurrency.ts. A log is a string of records of RECORD bytes, oldest
-- first: a time (double) and 8 bytes more, which are the number of hits (double) or the id of a permit, which is one
-- hit. `log` returns
--   code, remaining, resetAfterMs, waitMs, expiresAtMs, the next string of records, its hits, nil, dropped

local RECORD = 16

local function hits_at(records, position, holders)
  if holders then return 1 end
  return (struct.unpack('<d', records, position + 8))
end

local function time_at(records, position)
  return (struct.unpack('<d', records, position))
end

-- drop_while: the position of the first record that stays, and the hits that stay with it: records at or before `until_ms`
-- go, as long as `at_least` hits stay.
local function drop_while(records, hits, until_ms, at_least, holders)
  local position = 1
  while position <= #records do
    local here = hits_at(records, position, holders)
    if time_at(records, position) > until_ms or hits - here < at_least then break end
    hits = hits - here
    position = position + RECORD
  end
  return position, hits
end

-- leaves_at: the time of the record with which the oldest `hits` hits from `position` on are gone.
local function leaves_at(records, position, hits, latest, holders)
  while position <= #records do
    hits = hits - hits_at(records, position, holders)
    if hits <= 0 then return math.min(time_at(records, position), latest) end
    position = position + RECORD
  end
  return latest
end

-- moved_back: the records from `position` on, none of them later than `latest`.
local function moved_back(records, position, latest)
  local kept = string.sub(records, position)
  if #kept == 0 or time_at(kept, #kept - RECORD + 1) <= latest then return kept end
  local parts = {}
  for at = 1, #kept, RECORD do
    parts[#parts + 1] = struct.pack('<d', math.min(time_at(kept, at), latest)) .. string.sub(kept, at + 8, at + 15)
  end
  return table.concat(parts)
end

-- popped: the records without the newest `hits` hits.
local function popped(records, hits, holders)
  while hits > 0 and #records > 0 do
    local last = #records - RECORD + 1
    local here = hits_at(records, last, holders)
    local shorter = string.sub(records, 1, last - 1)
    if here > hits then
      return shorter .. struct.pack('<dd', time_at(records, last), here - hits)
    end
    records = shorter
    hits = hits - here
  end
  return records
end

-- pushed: the records with `hits` more at `latest`; permits are a record each, with their id.
local function pushed(records, hits, latest, permit)
  if permit then return records .. string.rep(struct.pack('<d', latest) .. permit, hits) end
  local last = #records - RECORD + 1
  if last > 0 and time_at(records, last) == latest then
    return string.sub(records, 1, last - 1) .. struct.pack('<dd', latest, hits_at(records, last) + hits)
  end
  return records .. struct.pack('<dd', latest, hits)
end

local function log(records, total, L, now, cost, permit)
  local holders, limit, window = L.holders, L.limit, L.window
  local latest = now
  if L.quantum > 1 then latest = now - math.fmod(now, L.quantum) + L.quantum - 1 end
  local position, hits = drop_while(records, total, now - window, 0, holders)
  if not (hits >= 0 and hits <= MAX_COUNT and hits % 1 == 0) then
    records, total, position, hits = '', 0, 1, 0
  end
  local asked = asked_by(cost)
  local code, wait, push, pop, dropped = 0, 0, 0, 0, 0
  if cost < 0 then
    pop = math.min(-cost, hits)
    hits = hits - pop
  elseif hits + asked <= limit then
    push = cost
    hits = hits + cost
  else
    code = asked > limit and 2 or 1
    if L.count_denied and cost > 0 then
      push = charged_of(cost, hits, L)
      dropped = cost - push
      position, hits = drop_while(records, total, math.huge, limit - push, holders)
      hits = hits + push
    end
    if code == 1 then wait = leaves_at(records, position, hits + asked - limit, latest, holders) + window - now end
  end
  local reset = 0
  if hits > 0 then
    local last
    if push > 0 then
      last = latest
    elseif pop > 0 then
      last = leaves_at(records, position, hits, latest, holders)
    else
      last = math.min(time_at(records, #records - RECORD + 1), latest)
    end
    reset = last + window - now
  end
  local next_records = moved_back(records, position, latest)
  if pop > 0 then next_records = popped(next_records, pop, holders) end
  if push > 0 then next_records = pushed(next_records, push, latest, holders and (permit or NO_PERMIT)) end
  local expires = now + reset
  if code == 2 and hits == 0 then reset = window end
  return code, math.max(limit - hits, 0), reset, wait, expires, next_records, hits, nil, dropped
end

-- sound_log: the log, unless its total is impossible. Then another program wrote into the records, and it restarts
-- without them. Checking the total costs the same for a log of any length, but may notice only when a record leaves:
-- until then and afterwards, a caller is admitted less than two budgets.
local function sound_log(records, total, L, now, cost, permit)
  local code, remaining, reset, wait, expires, next_records, hits, _, dropped =
    log(records, total, L, now, cost, permit)
  local longest = 2 * L.window
  local is_sound = hits >= 0 and hits <= MAX_COUNT and hits % 1 == 0 and reset >= 0 and reset <= longest and wait >= 0
    and wait <= longest
  if not is_sound and #records > 0 then return log('', 0, L, now, cost, permit) end
  return code, remaining, reset, wait, expires, next_records, hits, nil, dropped
end
