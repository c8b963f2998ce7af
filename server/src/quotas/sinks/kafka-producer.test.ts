import { describe, expect, it } from 'vitest'
import { auditRow, NO_ENTRY } from '../audit/audit-entry.ts'
import { connectKafka, type KafkaClient } from './kafka-producer.ts'
import { type KafkaMessage, KafkaSink } from './kafka-sink.ts'

const SETTINGS = { brokers: ['a:9092', 'b:9092'], topic: 'audit', isTls: false, sasl: undefined }

function fakeClient(fault?: Error) {
  const seen = { options: {} as Record<string, unknown>, sent: [] as unknown[][] }
  class Producer {
    constructor(options: Record<string, unknown>) {
      seen.options = options
    }
    async send({ messages }: { messages: readonly unknown[] }): Promise<void> {
      if (fault !== undefined) throw fault
      seen.sent.push([...messages])
    }
    async close(): Promise<void> {}
  }
  const client: KafkaClient = { Producer, stringSerializers: 'strings', compatibilityPartitioner: 'as Java' }
  return { seen, load: async () => client }
}

const message = (length: number) => ({ topic: 'audit', key: 'acme', value: 'x'.repeat(length), headers: {} })

describe('the producer for Kafka', () => {
  it('waits for all replicas, is idempotent, and partitions as Java does', async () => {
    const { seen, load } = fakeClient()
    await connectKafka(SETTINGS, load)
    expect(seen.options).toMatchObject({
      bootstrapBrokers: ['a:9092', 'b:9092'],
      acks: -1,
      idempotent: true,
      partitioner: 'as Java',
      serializers: 'strings',
      autocreateTopics: false,
    })
    expect(['tls' in seen.options, 'sasl' in seen.options]).toEqual([false, false])
  })

  it('connects with TLS and logs in where the settings say so', async () => {
    const { seen, load } = fakeClient()
    const sasl = { mechanism: 'PLAIN', username: 'sluice', password: 'p' }
    await connectKafka({ ...SETTINGS, isTls: true, sasl }, load)
    expect(seen.options).toMatchObject({ tls: {}, sasl })
  })

  it('sends what a broker would not take in one batch in several, in order', async () => {
    const { seen, load } = fakeClient()
    const producer = await connectKafka(SETTINGS, load)
    await producer.send([message(300_000), message(200_000), message(100_000), message(900_000), message(1)])
    expect(seen.sent.map((batch) => batch.length)).toEqual([2, 1, 1, 1])
  })

  it('says what is behind a failure', async () => {
    const fault = new AggregateError([new Error('Broker refuses.', { cause: new Error('Too large.') })], 'It failed.')
    const producer = await connectKafka(SETTINGS, fakeClient(fault).load)
    await expect(producer.send([message(1)])).rejects.toThrow('It failed. Broker refuses. Too large.')
  })

  it('leaves out of an entry what no broker would take, and says how much', async () => {
    const sent: KafkaMessage[] = []
    const connect = async () => ({
      send: async (some: readonly KafkaMessage[]) => void sent.push(...some),
      close: async () => {},
    })
    const sink = new KafkaSink('audit', connect)
    await sink.open()
    const entry = { action: 'rules.put', target: 'rules/1', customerId: undefined, before: undefined }
    const by = { id: 'a', name: 'A', address: undefined, reason: undefined }
    const row = auditRow(NO_ENTRY, { ...entry, after: JSON.stringify('ä'.repeat(600_000)) }, by, 1)
    await sink.write([row])
    expect(sent[0].key).toBe('rules/1')
    expect(JSON.parse(sent[0].value)).toMatchObject({
      sequence: 1,
      hash: row.hash,
      before: null,
      after: { omitted_bytes: 1_200_002, sha256: expect.stringMatching(/^[0-9a-f]{64}$/) },
    })
  })
})
