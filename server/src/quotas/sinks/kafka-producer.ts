import { hostname } from 'node:os'
import type { OptionalPackage } from '../optional-package.ts'
import type { KafkaMessage, KafkaProducer } from './kafka-sink.ts'

export interface KafkaSettings {
  readonly brokers: readonly string[]
  readonly topic: string
  readonly isTls: boolean
  readonly sasl: { readonly mechanism: string; readonly username: string; readonly password: string } | undefined
}

/** The part of @platformatic/kafka that is used. */
export interface KafkaClient {
  readonly Producer: new (
    options: Record<string, unknown>,
  ) => {
    send(options: { messages: readonly unknown[] }): Promise<unknown>
    close(force?: boolean): Promise<void>
  }
  readonly stringSerializers: unknown
  readonly compatibilityPartitioner: unknown
}

/** The 1.x line is the last one that runs on Node.js 20. */
export const KAFKA_PACKAGE: OptionalPackage = {
  name: '@platformatic/kafka',
  version: '1',
  setting: '--audit-kafka',
  code: 'KAFKA_PACKAGE_MISSING',
}
const ALL_REPLICAS = -1
const TIMEOUT_MS = 10_000
const RETRIES = 3
/** A broker takes batches of 1 MiB by default. */
const BATCH_CHARACTERS = 524_288

/**
 * Makes a producer that waits for all replicas and is idempotent: what it retries is stored once. Keys lead to the
 * partitions that clients in Java would choose.
 */
export async function connectKafka(
  settings: KafkaSettings,
  load: () => Promise<KafkaClient> = () => import(KAFKA_PACKAGE.name),
): Promise<KafkaProducer> {
  const { Producer, stringSerializers, compatibilityPartitioner } = await load()
  const producer = new Producer({
    clientId: `sluice-${hostname()}`,
    bootstrapBrokers: [...settings.brokers],
    serializers: stringSerializers,
    partitioner: compatibilityPartitioner,
    acks: ALL_REPLICAS,
    idempotent: true,
    autocreateTopics: false,
    timeout: TIMEOUT_MS,
    connectTimeout: TIMEOUT_MS,
    retries: RETRIES,
    ...(settings.isTls && { tls: {} }),
    ...(settings.sasl && { sasl: settings.sasl }),
  })
  return {
    async send(messages) {
      try {
        for (const batch of batches(messages)) await producer.send({ messages: batch })
      } catch (error) {
        throw new Error(reasonOf(error), { cause: error })
      }
    },
    close: () => producer.close(true),
  }
}

/** Cuts messages into lists that a broker takes, in their order. */
function* batches(messages: readonly KafkaMessage[]): Iterable<readonly KafkaMessage[]> {
  let batch: KafkaMessage[] = []
  let characters = 0
  for (const message of messages) {
    if (batch.length > 0 && characters + message.value.length > BATCH_CHARACTERS) {
      yield batch
      batch = []
      characters = 0
    }
    batch.push(message)
    characters += message.value.length
  }
  if (batch.length > 0) yield batch
}

/** Formats an error together with its cause; of several causes, the first. */
function reasonOf(error: unknown, depth = 0): string {
  const { message = String(error), errors, cause } = error as { message?: string; errors?: unknown[]; cause?: unknown }
  const behind = errors?.[0] ?? cause
  return behind === undefined || depth > 3 ? message : `${message} ${reasonOf(behind, depth + 1)}`
}
