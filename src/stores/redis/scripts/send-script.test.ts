import { ClientClosedError, ClientOfflineError, SimpleError, SocketClosedUnexpectedlyError } from '@redis/client'
import { describe, expect, it } from 'vitest'
import { StoreFault } from '../../../engine/store-fault.ts'
import type { Reply } from '../connection/connection.ts'
import { FakeConnection } from '../connection/fake-connection.suite.ts'
import { sendScript } from './send-script.ts'

const SCRIPT = { source: 'return 1', sha: 'abc', asFunction: undefined }

/** A bench whose server gives the answers of a list, in order; the last one again and again. */
function bench(...answers: readonly unknown[]) {
  const connection = new FakeConnection()
  const sent: (string | Buffer)[][] = []
  connection.ask = (_key, args, asker) => {
    const answer = answers[Math.min(sent.length, answers.length - 1)]
    sent.push([...args])
    if (answer instanceof Error) asker.failed(answer)
    else asker.answered(answer as Reply)
  }
  const call = { connection, shard: 'redis', script: SCRIPT, keys: ['k1', 'k2'], args: ['a', Buffer.from([0, 255])] }
  return { connection, sent, run: (isWorthwhile = () => true) => sendScript(call, isWorthwhile) }
}

/** What ioredis rejects with. */
class ReplyError extends Error {
  override readonly name = 'ReplyError'
}

const reply = (text: string) => new SimpleError(text)

describe('sendScript', () => {
  it('runs a script by its hash, with keys and arguments as they are', async () => {
    const { run, sent } = bench('done')
    expect(await run()).toBe('done')
    expect(sent).toEqual([['EVALSHA', 'abc', '2', 'k1', 'k2', 'a', Buffer.from([0, 255])]])
  })

  it('sends a script in full to a server that does not know it', async () => {
    const { run, sent } = bench(reply('NOSCRIPT No matching script.'), 'done')
    expect(await run()).toBe('done')
    expect(sent.map(([command, script]) => `${command} ${script}`)).toEqual(['EVALSHA abc', 'EVAL return 1'])
  })

  it('does not send a script in full twice', async () => {
    const { run, sent } = bench(reply('NOSCRIPT No matching script.'))
    await expect(run()).rejects.toMatchObject({ reason: 'broken' })
    expect(sent).toHaveLength(2)
  })

  it('tries again while a slot moves', async () => {
    const { run, sent } = bench(reply('TRYAGAIN Multiple keys'), reply('TRYAGAIN Multiple keys'), 'done')
    expect(await run()).toBe('done')
    expect(sent).toHaveLength(3)
  })

  it('stops to try when it is not worthwhile any more', async () => {
    let left = 3
    const { run, sent } = bench(reply('TRYAGAIN Multiple keys'))
    await expect(run(() => left-- > 0)).rejects.toMatchObject({ reason: 'unavailable' })
    expect(sent).toHaveLength(4)
  })

  it.each([
    [reply('LOADING Redis is loading the dataset in memory'), 'unavailable'],
    [reply("READONLY You can't write against a read only replica. script: 1, on @user_script:9."), 'unavailable'],
    [reply("OOM command not allowed when used memory > 'maxmemory'."), 'unavailable'],
    [reply('MISCONF Redis is configured to save RDB snapshots'), 'unavailable'],
    [reply('CLUSTERDOWN Hash slot not served'), 'unavailable'],
    [reply('MASTERDOWN Link with MASTER is down'), 'unavailable'],
    [reply('BUSY Redis is busy running a script.'), 'unavailable'],
    [reply('NOREPLICAS Not enough good replicas to write.'), 'unavailable'],
    [reply('NOPERM User app has no permissions'), 'unavailable'],
    [reply("ERR The user executing the script can't run this command or subcommand script: 1"), 'unavailable'],
    // As Redis 6.2 says it.
    [reply('ERR Error running script (call to f_1): @user_script:9: -OOM command not allowed when…'), 'unavailable'],
    [reply('ERR Error compiling script'), 'broken'],
    [reply('BUSYKEY Target key name already exists.'), 'broken'],
    [reply('ERR the value is -OOMPH'), 'broken'],
    [new ClientOfflineError(), 'offline'],
    [new ClientClosedError(), 'offline'],
    [new SocketClosedUnexpectedlyError(), 'broken'],
    // As ioredis says it, and as a client in a minified bundle does.
    [new ReplyError('LOADING Redis is loading the dataset in memory'), 'unavailable'],
    [new (class extends Error {})('OOM command not allowed'), 'unavailable'],
    [new ReplyError('ERR Error compiling script'), 'broken'],
    [new Error('LOADING is what this error of unknown origin starts with'), 'broken'],
  ])('takes %s for "%s"', async (error, reason) => {
    const { run, sent } = bench(error)
    await expect(run()).rejects.toMatchObject({ name: 'StoreFault', reason, shard: 'redis' })
    expect(sent).toHaveLength(1)
  })

  it('passes a StoreFault on', async () => {
    const fault = new StoreFault('offline', 'other', 'not connected')
    await expect(bench(fault).run()).rejects.toBe(fault)
  })

  it.each([
    ["READONLY You can't write against a read only replica.", ['redis']],
    ["ERR Error running script (call to f_1): @user_script:9: -READONLY You can't write", ['redis']],
    ['LOADING Redis is loading', []],
  ])('after "%s" drops the connections of %j', async (text, resets) => {
    const { run, connection } = bench(reply(text))
    await expect(run()).rejects.toThrow(StoreFault)
    expect(connection.resets).toEqual(resets)
  })
})
