import type { KeyedHash } from 'sluice/internal/core/hash'
import {
  CHUNK_BITS,
  CHUNK_MASK,
  ENTRY_BYTES,
  FREED,
  isLogEntry,
  standingOf,
} from 'sluice/internal/stores/memory/entries'
import { MemoryStore } from 'sluice/internal/stores/memory/memory-store'
import { MessageReader, MessageWriter } from './binary.ts'

/** What the stores of all partitions are made of: the same hash on every node, or keys would have other places. */
export interface PartitionOptions {
  readonly hash: KeyedHash
  readonly maxKeys: number
}

/** Makes the counters of one partition. Permits of two such stores have other numbers. */
export function newPartition(options: PartitionOptions): MemoryStore {
  return new MemoryStore({ ...options, firstPermit: Math.floor(Math.random() * 2 ** 48) })
}

const NUMBERS = 0
const LOG = 1
const END = 2
const STATE_AT = 8

/** Writes the counters of a store that have not expired: what another node needs to go on with them. */
export function dumpPartition(store: MemoryStore, nowMs: number): Buffer {
  const { entries, pages } = store.parts
  const out = new MessageWriter()
  for (let id = 0; id < entries.size; id++) {
    const expiry = entries.expiry(id)
    if (expiry === FREED || expiry <= nowMs) continue
    const { words } = entries.chunks[id >>> CHUNK_BITS]
    const bytes = new Uint8Array(words.buffer, (id & CHUNK_MASK) * ENTRY_BYTES, ENTRY_BYTES)
    if (!isLogEntry(expiry)) {
      out.byte(NUMBERS)
      out.raw(bytes)
      continue
    }
    out.byte(LOG)
    out.raw(bytes.subarray(0, STATE_AT))
    out.double(expiry)
    // A log of permits has a number for each record, one of hits how many there were at that time.
    pages.open(id, false)
    const records: number[] = []
    pages.rewind()
    while (pages.next()) records.push(pages.timeMs, pages.hits)
    out.double(pages.totalHits)
    out.double(records.length / 2)
    for (const number of records) out.double(number)
  }
  out.byte(END)
  return out.bytes
}

/** Makes a store of what dumpPartition wrote. Throws a RangeError at anything else. */
export function loadPartition(bytes: Uint8Array, options: PartitionOptions): MemoryStore {
  const store = newPartition(options)
  const from = new MessageReader(bytes)
  for (let kind = from.byte(); kind !== END; kind = from.byte()) {
    if (kind === NUMBERS) addNumbers(store, from)
    else if (kind === LOG) addLog(store, from)
    else throw new RangeError('a counter of an unknown kind')
  }
  from.end()
  return store
}

function addNumbers({ parts: { entries, index } }: MemoryStore, from: MessageReader): void {
  const id = entries.append()
  const { words } = entries.chunks[id >>> CHUNK_BITS]
  new Uint8Array(words.buffer, (id & CHUNK_MASK) * ENTRY_BYTES, ENTRY_BYTES).set(from.raw(ENTRY_BYTES))
  index.add(id)
}

function addLog({ parts: { entries, index, pages } }: MemoryStore, from: MessageReader): void {
  const id = entries.append()
  const key = from.raw(STATE_AT)
  entries.setKey(id, key.readInt32LE(0), key.readInt32LE(4))
  index.add(id)
  const expiry = from.double()
  const [hits, count] = [from.double(), from.double()]
  pages.open(id, hits === count)
  pages.clear()
  for (let i = 0; i < count; i++) {
    const timeMs = from.double()
    pages.take(from.double(), 1, timeMs)
  }
  entries.setExpiry(id, Math.floor(expiry), standingOf(expiry), true)
}
