import type { Block } from '../model.ts'
import { AddressBlocks } from './address-blocks.ts'
import { BlockRecord } from './block-record.ts'

/** Holds the blocks, by whom they are about. */
export class BlockList {
  readonly #byId = new Map<string, BlockRecord>()
  readonly #customers = new Map<string, BlockRecord[]>()
  readonly #keys = new Map<string, BlockRecord[]>()
  readonly addresses = new AddressBlocks()

  get size(): number {
    return this.#byId.size
  }

  put(id: string, block: Block | undefined): void {
    const before = this.#byId.get(id)
    if (before !== undefined) this.#remove(before)
    this.#byId.delete(id)
    if (block === undefined) return
    const record = new BlockRecord(block)
    this.#byId.set(id, record)
    const { subject } = record
    if (subject.kind === 'cidr') this.addresses.add(subject.cidr, record)
    else if (subject.kind === 'key') append(this.#keys, subject.keyId, record)
    else append(this.#customers, subject.customerId, record)
  }

  ofCustomer(id: string, nowMs: number): BlockRecord | undefined {
    return this.#customers.get(id)?.find((each) => each.isInForce(nowMs))
  }

  ofKey(id: string, nowMs: number): BlockRecord | undefined {
    return this.#keys.get(id)?.find((each) => each.isInForce(nowMs))
  }

  #remove(record: BlockRecord): void {
    const { subject } = record
    if (subject.kind === 'cidr') this.addresses.remove(subject.cidr, record)
    else if (subject.kind === 'key') without(this.#keys, subject.keyId, record)
    else without(this.#customers, subject.customerId, record)
  }
}

function append(map: Map<string, BlockRecord[]>, id: string, record: BlockRecord): void {
  map.set(id, [...(map.get(id) ?? []), record])
}

function without(map: Map<string, BlockRecord[]>, id: string, record: BlockRecord): void {
  const left = (map.get(id) ?? []).filter((each) => each !== record)
  if (left.length === 0) map.delete(id)
  else map.set(id, left)
}
