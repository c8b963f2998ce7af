import { got, SluiceError } from 'sluice/internal/core/errors'
import type { KafkaSettings } from '../../quotas/sinks/kafka-producer.ts'
import type { SettingSources } from './setting-sources.ts'

/** Says which decisions are logged, and where. */
export interface DecisionLogConfig {
  /** A path, or `stdout`. */
  readonly target: string
  readonly refusalsPerSecond: number
  readonly share: number
  readonly maxMib: number
  readonly files: number
}

/** The file that the audit log goes to, too. */
export interface AuditFileConfig {
  readonly path: string
  readonly maxMib: number
  readonly files: number
}

/** Reads the numbers even where there is no log, so that an invalid one is reported now and not when it is needed. */
export function decisionLogOf(from: SettingSources): DecisionLogConfig | undefined {
  const target = from.value('decision-log')
  const refusalsPerSecond = from.value('decision-log-refusals') ?? 100
  const share = from.value('decision-log-share')
  const maxMib = from.value('decision-log-size') ?? 100
  const files = from.value('decision-log-files') ?? 5
  return target === undefined ? undefined : { target, refusalsPerSecond, share, maxMib, files }
}

export function auditFileOf(from: SettingSources): AuditFileConfig | undefined {
  const path = from.value('audit-file')
  const maxMib = from.value('audit-file-size') ?? 100
  const files = from.value('audit-file-files') ?? 20
  return path === undefined ? undefined : { path, maxMib, files }
}

const BROKER = /^(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):[0-9]{1,5}$/

export function auditKafkaOf(from: SettingSources): KafkaSettings | undefined {
  const text = from.value('audit-kafka')
  const topic = from.value('audit-kafka-topic')
  const isTls = from.value('audit-kafka-tls')
  const mechanism = from.value('audit-kafka-sasl')
  const username = from.value('audit-kafka-user')
  const password = from.value('audit-kafka-password') ?? ''
  if (text === undefined) return undefined
  const brokers = text.split(',').map((each) => each.trim())
  const wrong = brokers.find((each) => !BROKER.test(each))
  if (wrong !== undefined) {
    throw new SluiceError('AUDIT_KAFKA_INVALID', from.given('audit-kafka')?.where ?? '--audit-kafka', got(wrong))
  }
  return {
    brokers,
    topic,
    isTls,
    sasl: username === undefined ? undefined : { mechanism: mechanism.toUpperCase(), username, password },
  }
}
