// Preloaded into a service: its time is what a file says, in milliseconds since 1970, as a 64-bit float.
import { openSync, readSync } from 'node:fs'

const file = openSync(process.env.VIRTUAL_CLOCK ?? '', 'r')
const bytes = Buffer.alloc(8)

function nowMs() {
  readSync(file, bytes, 0, bytes.length, 0)
  return bytes.readDoubleLE()
}

const startedMs = nowMs()
Date.now = nowMs
performance.now = () => nowMs() - startedMs
