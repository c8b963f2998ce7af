import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { RuleDirectory, ruleText } from '../../src/sources/rule-directory.suite.ts'
import { makeTemporaryDir, reapAtExit } from '../servers/reaper.mjs'
import { until } from '../servers/until.mjs'
import { ROOT } from './image-tree.suite.ts'
import { secondsOf, settingOf, unknownVariables } from './settings-check.suite.ts'

const UNIT = join(ROOT, 'deploy/systemd/sluice.service')
const text = readFileSync(UNIT, 'utf8')
const valuesOf = (name: string): string[] =>
  [...text.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value]) => value)
const hasAnalyze = spawnSync('systemd-analyze', ['--version']).status === 0
/** systemd looks whether the programs of a unit are there. */
const canVerify = hasAnalyze && existsSync('/usr/bin/node')

describe('the unit for systemd', () => {
  it('starts the program of the package', () => {
    const [start] = valuesOf('ExecStart')
    const [, path] = /\/node_modules\/sluice-server\/(\S+) serve$/.exec(start) ?? []
    expect(existsSync(join(ROOT, 'server', path))).toBe(true)
  })

  it('waits for the end of the drain', () => {
    const drain = ['drain-delay', 'drain-timeout'].map((flag) => secondsOf(settingOf(flag).default))
    expect(secondsOf(valuesOf('TimeoutStopSec')[0])).toBeGreaterThan(drain[0] + drain[1])
  })

  it('sets variables that the service knows, with secrets from a credential', () => {
    const variables = valuesOf('Environment').flatMap((line) => line.split(' '))
    expect(unknownVariables(variables.map((each) => each.split('=')[0]))).toEqual([])
    const [name] = valuesOf('LoadCredential')[0].split(':')
    expect(variables).toContain(`SLUICE_CONFIG=%d/${name}`)
    for (const flag of ['redis', 'secret', 'admin-token', 'database']) {
      expect(text).toContain(`${settingOf(flag).flag.replaceAll('-', '_')}: …`)
    }
  })

  it('takes notices from the processes that send them', () => {
    expect([valuesOf('Type'), valuesOf('NotifyAccess')]).toEqual([['notify'], ['all']])
    expect(secondsOf(valuesOf('WatchdogSec')[0])).toBeGreaterThanOrEqual(10)
  })

  it('gives no rights, and its own place to write', () => {
    expect(valuesOf('ProtectSystem')).toEqual(['strict'])
    for (const name of ['DynamicUser', 'NoNewPrivileges', 'PrivateTmp', 'ProtectHome']) {
      expect(valuesOf(name), name).toEqual(['yes'])
    }
    expect(valuesOf('CapabilityBoundingSet')).toEqual([''])
    expect(valuesOf('StateDirectory')).toEqual(['sluice'])
  })

  // Skipped where systemd is not installed, or Node.js is elsewhere.
  it.runIf(canVerify)('is right in the eyes of systemd', () => {
    const { status, stderr } = spawnSync('systemd-analyze', ['verify', UNIT], { encoding: 'utf8' })
    expect([status, stderr.split('\n').filter((line) => line.includes('sluice'))]).toEqual([0, []])
  })
})

describe('the service under systemd', () => {
  it('says that it is ready, that it lives, and that it ends', async () => {
    const dir = makeTemporaryDir('systemd')
    writeFileSync(join(dir, 'systemd-notify'), `#!/bin/sh\necho "$@" >> ${dir}/told\n`)
    chmodSync(join(dir, 'systemd-notify'), 0o755)
    const rules = new RuleDirectory({ 'api.yaml': ruleText(1) }).path
    const child = spawn(process.execPath, [join(ROOT, 'server/bin/sluice.mjs'), 'serve'], {
      env: {
        ...{ PATH: `${dir}:${process.env.PATH}`, NOTIFY_SOCKET: '/run/systemd/notify', WATCHDOG_USEC: '200000' },
        ...{ SLUICE_RULES: rules, PORT: '0', GRPC_PORT: '0', ADMIN_PORT: '0', SLUICE_DRAIN_DELAY: '300ms' },
      },
      stdio: 'ignore',
    })
    reapAtExit(child)
    const told = (): string[] => readFileSync(join(dir, 'told'), 'utf8').trim().split('\n')
    await until('it has said that it lives', () => told().includes('WATCHDOG=1'))
    expect(told()[0]).toBe('READY=1')
    const ended = once(child, 'exit')
    child.kill('SIGTERM')
    await until('it has said that it ends', () => told().includes('STOPPING=1'))
    expect(await ended).toEqual([0, null])
  })
})
