// @ts-check

/**
 * Returns the slot of a key in Redis Cluster: CRC16 (XMODEM) of its hash tag, or of all of it, modulo 16384.
 * @param {string} key
 */
export function slotOf(key) {
  const open = key.indexOf('{')
  const close = key.indexOf('}', open + 1)
  const tag = open !== -1 && close > open + 1 ? key.slice(open + 1, close) : key
  let crc = 0
  for (const byte of Buffer.from(tag)) {
    crc ^= byte << 8
    for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1
  }
  return crc & 0x3fff
}

/**
 * Returns a key of a slot, another one for each number.
 * @param {number} slot
 * @param {number} [number]
 */
export function keyIn(slot, number = 0) {
  let tag = 0
  while (slotOf(`${tag}`) !== slot) tag += 1
  return `{${tag}}${number}`
}
