import { appendFileSync, existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { hashOf } from '../../quotas/audit/audit-entry.ts'
import { SLOW_MS, testDatabases } from '../../quotas/database/databases.suite.ts'
import { quotasOn } from '../../quotas/open/open-quotas.ts'
import { SUPPORT } from '../../quotas/records/record-store.suite.ts'
import type { AuditSink } from '../../quotas/sinks/audit-sink.ts'
import { type KafkaMessage, KafkaSink } from '../../quotas/sinks/kafka-sink.ts'
import { SinkRunner } from '../../quotas/sinks/sink-runner.ts'
import { Leases } from '../../quotas/tables/leases.ts'
import { FileSink } from './file-sink.ts'

const MIB = 1_048_576

function makePath(): string {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-audit-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  return join(dir, 'audit.jsonl')
}

/** Keeps what a producer sends, unless it is unavailable; it may lose its answer. */
class FakeBroker {
  readonly log: KafkaMessage[] = []
  fault: 'away' | 'answer is lost' | undefined
  connections = 0

  readonly connect = async () => {
    this.connections++
    return {
      send: async (messages: readonly KafkaMessage[]) => {
        if (this.fault === 'away') throw new Error('ECONNREFUSED')
        this.log.push(...messages)
        if (this.fault === 'answer is lost') throw new Error('timed out')
      },
      close: async () => {},
    }
  }

  get sequences(): readonly number[] {
    return this.log.map(({ value }) => JSON.parse(value).sequence)
  }
}

describe.each(testDatabases)('the audit log on %s', { timeout: SLOW_MS }, (_, make) => {
  async function open() {
    const place = await make()
    const quotas = await quotasOn(await place.open())
    const change = async (count: number): Promise<void> => {
      for (let n = 0; n < count; n++) {
        const entry = {
          action: 'customers.put',
          target: `customers/c-${n}`,
          before: undefined,
          after: `{"b":${n},"1":"ä"}`,
        }
        await quotas.audit.record(SUPPORT, async () => ({
          result: undefined,
          entries: [{ ...entry, customerId: `c-${n}` }],
        }))
      }
    }
    const run = (sink: AuditSink, holder = 'here') => {
      onTestFinished(() => sink.close())
      const reported: string[] = []
      const events = {
        failed: (reason: string) => reported.push(`failed: ${reason}`),
        recovered: () => reported.push('recovered'),
        ahead: (has: number, head: number) => reported.push(`ahead: ${has} of ${head}`),
      }
      const { db, audit } = quotas
      return { runner: new SinkRunner(sink, { db, audit, leases: new Leases(db, holder), events }), reported }
    }
    return { ...quotas, change, run }
  }

  const linesOf = (path: string) =>
    readFileSync(path, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
  const sequencesIn = (...paths: string[]) =>
    paths.flatMap((path) => linesOf(path).map((line) => JSON.parse(line).sequence))
  const upTo = (last: number) => Array.from({ length: last }, (_each, n) => n + 1)
  const fileSink = (path: string, maxBytes = MIB) => new FileSink({ path, maxBytes, keep: 9 }, 'host')

  it('goes to a file, in lines whose hashes can be computed again', async () => {
    const { change, run } = await open()
    const path = makePath()
    await change(3)
    const { runner } = run(fileSink(path))
    await runner.turn()
    const lines = linesOf(path)
    const [first, second] = lines.map((line) => JSON.parse(line))
    expect([first.actor, first.after, second.previous]).toEqual([
      { id: 'token-1', name: 'Support', address: '192.0.2.7' },
      { b: 0, 1: 'ä' },
      first.hash,
    ])
    const after = lines[0].slice(lines[0].indexOf('"after":') + 8, lines[0].indexOf(',"previous"'))
    const texts = { actor_id: 'token-1', actor_name: 'Support', reason: first.reason, address: '192.0.2.7' }
    const { sequence, at_ms, action, target, customer_id, previous } = first
    const row = { sequence, at_ms, ...texts, action, target, customer_id, before: null, after, previous }
    expect(hashOf(row)).toBe(first.hash)
    expect(runner.figures).toEqual({ lag: 0, sent: 3 })
  })

  it('continues in the file where it stopped, whatever the database knows of it', async () => {
    const { change, run, db } = await open()
    const path = makePath()
    await change(4)
    await run(fileSink(path)).runner.turn()
    // As after a kill between the write and the note of it.
    await db.query('DELETE FROM sluice.sink_positions')
    await change(2)
    await run(fileSink(path)).runner.turn()
    expect(sequencesIn(path)).toEqual(upTo(6))
  })

  it('cuts off a line that was not written to its end, and writes it again', async () => {
    const { change, run } = await open()
    const path = makePath()
    await change(3)
    await run(fileSink(path)).runner.turn()
    const [, second, third] = linesOf(path)
    const text = readFileSync(path, 'utf8')
    writeFileSync(path, text.slice(0, text.length - third.length - 1 - 5))
    expect(second.length).toBeGreaterThan(5)
    await change(1)
    await run(fileSink(path)).runner.turn()
    expect(sequencesIn(path)).toEqual(upTo(4))
  })

  it('puts full files aside, and goes on after one that was', async () => {
    const { change, run } = await open()
    const path = makePath()
    for (let n = 0; n < 4; n++) {
      await change(2)
      await run(fileSink(path, 1_000)).runner.turn()
    }
    renameSync(path, `${path}.0`)
    const files = [4, 3, 2, 1, 0].map((n) => `${path}.${n}`).filter((file) => existsSync(file))
    expect(sequencesIn(...files)).toEqual(upTo(8))
    renameSync(`${path}.0`, `${path}.1`)
    await change(1)
    await run(fileSink(path)).runner.turn()
    expect(sequencesIn(path)).toEqual([9])
  })

  it('says why a file cannot be written, writes nothing twice, and goes on when it can', async () => {
    const { change, run } = await open()
    const path = makePath()
    writeFileSync(path, 'other notes\n')
    await change(2)
    const { runner, reported } = run(fileSink(path))
    await runner.turn()
    await runner.turn()
    expect(reported).toEqual([`failed: the last line of ${path} is not an entry of the audit log`])
    rmSync(path)
    await runner.turn()
    expect([reported[1], sequencesIn(path)]).toEqual(['recovered', [1, 2]])
  })

  it('says that a file has more than the database', async () => {
    const { change, run } = await open()
    const path = makePath()
    appendFileSync(path, '{"sequence":7}\n')
    await change(1)
    const { runner, reported } = run(fileSink(path))
    await runner.turn()
    await runner.turn()
    expect(reported).toEqual(['ahead: 7 of 1'])
  })

  it('goes to Kafka by customer, and waits in the database until it is confirmed', async () => {
    const { change, run, audit } = await open()
    const broker = new FakeBroker()
    const { runner, reported } = run(new KafkaSink('audit', broker.connect))
    broker.fault = 'away'
    await change(3)
    await runner.turn()
    await runner.turn()
    expect([broker.log, runner.figures.lag, reported]).toEqual([[], 3, ['failed: ECONNREFUSED']])
    expect((await audit.unconfirmed('kafka audit', 9)).length).toBe(3)
    broker.fault = undefined
    await runner.turn()
    expect(broker.log.map(({ key, topic, headers }) => [topic, key, headers.sequence])).toEqual([
      ['audit', 'c-0', '1'],
      ['audit', 'c-1', '2'],
      ['audit', 'c-2', '3'],
    ])
    expect([await audit.unconfirmed('kafka audit', 9), reported.slice(1)]).toEqual([[], ['recovered']])
    await runner.turn()
    expect(broker.log.length).toBe(3)
  })

  it('is sent again where it is unknown whether it arrived, and nothing is left out', async () => {
    const { change, run } = await open()
    const broker = new FakeBroker()
    const { runner } = run(new KafkaSink('audit', broker.connect))
    broker.fault = 'answer is lost'
    await change(2)
    await runner.turn()
    broker.fault = undefined
    await change(1)
    await runner.turn()
    expect([broker.sequences, broker.connections]).toEqual([[1, 2, 1, 2, 3], 2])
  })

  it('is sent to Kafka by one node at a time; when that one ends, another continues', async () => {
    const { change, run } = await open()
    const broker = new FakeBroker()
    const [one, other] = ['one', 'other'].map((holder) => run(new KafkaSink('audit', broker.connect), holder).runner)
    await change(2)
    await one.turn()
    await change(2)
    await other.turn()
    expect(broker.sequences).toEqual(upTo(2))
    await one.close()
    expect(broker.sequences).toEqual(upTo(4))
    await change(1)
    await other.turn()
    expect([broker.sequences, other.figures.sent]).toEqual([upTo(5), 1])
  })

  it('continues on another node when the one that sent it is silent', async () => {
    const { change, run, db } = await open()
    const broker = new FakeBroker()
    const [one, other] = ['one', 'other'].map((holder) => run(new KafkaSink('audit', broker.connect), holder).runner)
    await change(1)
    await one.turn()
    await db.query("UPDATE sluice.leases SET until = now() - interval '1 second'")
    await change(1)
    await other.turn()
    await one.turn()
    expect([broker.sequences, one.figures]).toEqual([upTo(2), { lag: 0, sent: 1 }])
  })
})
