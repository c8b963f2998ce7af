-- The buckets, as in core/algorithms/token-bucket.ts, gcra.ts and leaky-bucket.ts. They return what the windows do.

local function round(x) return math.floor(x + 0.5) end

local function token_bucket(at, first, _, L, now, cost)
  local full, per_hit, per_ms = L.full, L.per_hit, L.per_ms
  local units = full
  if at ~= NEVER then
    units = math.max(full - round(first * per_hit), -full)
    if now > at then units = math.min(units + (now - at) * per_ms, full) end
  end
  local price, asked = cost * per_hit, asked_by(cost)
  local code, wait, dropped = 0, 0, 0
  if price < 0 or (asked <= L.capacity and asked * per_hit <= units) then
    units = math.min(units - price, full)
  else
    if L.count_denied then
      local owed = units - price
      units = math.max(owed, -full)
      dropped = math.ceil((units - owed) / per_hit)
    end
    if asked > L.capacity then code = 2 else code, wait = 1, math.ceil((asked * per_hit - units) / per_ms) end
  end
  local remaining, reset = 0, 0
  if units > 0 then remaining = math.floor(units / per_hit) end
  if units < full then reset = math.ceil((full - units) / per_ms) end
  local expires = now + reset
  if code == 2 and units == full then reset = L.window end
  return code, remaining, reset, wait, expires, now, (full - units) / per_hit, 0, dropped
end

-- time_of: the time of a state, which has a minus while the bucket is in debt; and whether it is.
local function time_of(at)
  if at < 0 and at ~= NEVER then return -at, true end
  return at, false
end

local function gcra(at, _, _, L, now, cost)
  local full, per_hit, per_ms = L.full, L.per_hit, L.per_ms
  local now_units = now * per_ms
  local tat_ms, is_owing = time_of(at)
  local deepest = full
  if L.count_denied or is_owing then deepest = 2 * full end
  local used = 0
  local tat = round(tat_ms * per_ms)
  if tat > now_units then used = math.min(tat - now_units, deepest) end
  local price, asked = cost * per_hit, asked_by(cost)
  local code, wait, dropped = 0, 0, 0
  if price < 0 or (asked <= L.capacity and used + asked * per_hit <= full) then
    used = math.max(used + price, 0)
  else
    if L.count_denied then
      local owed = used + price
      used = math.min(owed, deepest)
      dropped = math.ceil((owed - used) / per_hit)
    end
    if asked > L.capacity then code = 2 else code, wait = 1, math.ceil((used + asked * per_hit - full) / per_ms) end
  end
  local remaining, reset = 0, 0
  if used < full then remaining = math.floor((full - used) / per_hit) end
  if used > 0 then reset = math.ceil(used / per_ms) end
  local expires, next_at = now + reset, (now_units + used) / per_ms
  if code == 2 and used == 0 then reset = L.window end
  if used > full then next_at = -next_at end
  return code, remaining, reset, wait, expires, next_at, 0, 0, dropped
end

local function leaky_bucket(at, first, second, L, now, cost)
  local code, remaining, reset, wait, expires, dry_at, _, _, dropped = gcra(at, first, second, L, now, cost)
  local ahead = round(time_of(at) * L.per_ms) - now * L.per_ms
  if code == 0 and cost > 0 and ahead > 0 then wait = math.ceil(ahead / L.per_ms) end
  return code, remaining, reset, wait, expires, dry_at, 0, 0, dropped
end
