import { createHash } from 'node:crypto'
import type { AuditRow } from '../audit/audit-entry.ts'
import { auditLine } from './audit-line.ts'
import type { AuditSink } from './audit-sink.ts'

/** A broker takes messages of 1 MiB by default. One that it never takes would hold up all others. */
const MAX_BYTES = 900_000

/** A KafkaMessage is one entry on its way. Entries of one customer have one key, and so one partition and one order. */
export interface KafkaMessage {
  readonly topic: string
  readonly key: string
  readonly value: string
  readonly headers: Readonly<Record<string, string>>
}

/** A KafkaProducer sends messages. `send` resolves when all replicas that are in sync have all of them. */
export interface KafkaProducer {
  send(messages: readonly KafkaMessage[]): Promise<void>
  close(): Promise<void>
}

/**
 * A KafkaSink sends the audit log to a topic. How far it is, the database says: after a crash between the answer of
 * Kafka and the note of it, entries come twice, with the same sequence; none is missing.
 */
export class KafkaSink implements AuditSink {
  readonly kind = 'kafka'
  readonly name: string
  readonly isShared = true
  readonly #topic: string
  readonly #connect: () => Promise<KafkaProducer>
  #producer: KafkaProducer | undefined

  constructor(topic: string, connect: () => Promise<KafkaProducer>) {
    this.name = `kafka ${topic}`
    this.#topic = topic
    this.#connect = connect
  }

  async open(): Promise<undefined> {
    // After a failure, what the producer knows of its place in the log is worth nothing.
    await this.close()
    this.#producer = await this.#connect()
  }

  async write(rows: readonly AuditRow[]): Promise<void> {
    if (this.#producer === undefined) throw new Error('it is not connected')
    await this.#producer.send(rows.map((row) => this.#message(row)))
  }

  async close(): Promise<void> {
    const producer = this.#producer
    this.#producer = undefined
    await producer?.close().catch(() => {})
  }

  #message(row: AuditRow): KafkaMessage {
    return {
      topic: this.#topic,
      key: row.customer_id ?? row.target,
      value: lineOf(row),
      headers: { 'content-type': 'application/json', sequence: String(row.sequence), action: row.action },
    }
  }
}

/** Leaves out the states before and after where they are too long, and marks that: the database has them. */
function lineOf(row: AuditRow): string {
  const line = auditLine(row)
  if (Buffer.byteLength(line) <= MAX_BYTES) return line
  return auditLine({ ...row, before: omitted(row.before), after: omitted(row.after) })
}

function omitted(text: string | null): string | null {
  if (text === null) return null
  const sha256 = createHash('sha256').update(text).digest('hex')
  return JSON.stringify({ omitted_bytes: Buffer.byteLength(text), sha256 })
}
