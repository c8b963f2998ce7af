import { chmodSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import {
  aptReason,
  defaultPath,
  ensureSystemPackages,
  findCommand,
  requireCommand,
  tryToEnsureSystemPackages,
} from './system-packages.mjs'
import { addFiles, makeTree } from './temporary-tree.mjs'

const table = { served: 'serve-tools', 'serve-cli': 'serve-tools' }

/** Returns a machine whose PATH is one directory; its apt-get logs each call and then runs `onInstall`. */
function makeMachine({ onInstall = '', files = {} } = {}) {
  const dir = makeTree({})
  const apt = `#!/bin/sh
    for last; do :; done
    echo "$last $DEBIAN_FRONTEND" >> "${dir}/log"
    cp "${dir}/policy-rc.d" "${dir}/policy-seen"
    case " $* " in *" install "*) cd "${dir}/bin"; ${onInstall} ;; esac`
  addCommands(dir, { 'apt-get': apt, ...files })
  const read = (name) => (existsSync(join(dir, name)) ? readFileSync(join(dir, name), 'utf8') : undefined)
  return { dir, read, settings: { table, path: join(dir, 'bin'), isRoot: true, policyFile: join(dir, 'policy-rc.d') } }
}

function addCommands(dir, commands) {
  for (const [name, text] of Object.entries(commands)) {
    addFiles(dir, { [`bin/${name}`]: text })
    chmodSync(join(dir, 'bin', name), 0o755)
  }
}

const installBoth = 'for name in served serve-cli; do printf x > $name; chmod +x $name; done'

/** Runs some work and returns the lines that it says. */
async function heard(work) {
  const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
  try {
    await work()
    return write.mock.calls.map(([line]) => line)
  } finally {
    write.mockRestore()
  }
}

test('nothing is called when every command is there', async () => {
  const { read, settings } = makeMachine({ files: { served: '', 'serve-cli': '' } })
  expect(await heard(() => ensureSystemPackages(settings))).toEqual([])
  expect(read('log')).toBeUndefined()
})

test('the package of missing commands is installed once, after an update', async () => {
  const { read, settings } = makeMachine({ onInstall: installBoth })
  expect(await heard(() => ensureSystemPackages(settings))).toEqual(['sluice: installing serve-tools (once) …\n'])
  expect(await heard(() => ensureSystemPackages(settings))).toEqual([])
  expect(read('log')).toBe('update noninteractive\nserve-tools noninteractive\n')
})

test('services are forbidden while it installs, and not after', async () => {
  const { read, settings } = makeMachine({ onInstall: installBoth })
  await heard(() => ensureSystemPackages(settings))
  expect(read('policy-seen')).toContain(`kill -0 ${process.pid} 2>/dev/null && exit 101`)
  expect(read('policy-rc.d')).toBeUndefined()
})

test("the machine's own policy for services stays", async () => {
  const { dir, read, settings } = makeMachine({ onInstall: installBoth })
  addFiles(dir, { 'policy-rc.d': 'its own' })
  await heard(() => ensureSystemPackages(settings))
  expect(read('policy-rc.d')).toBe('its own')
})

const hint = '"apt-get install serve-tools" as root brings it on Debian and Ubuntu'

test.each([
  ['there is no apt-get', { path: '/nonexistent' }, 'this machine has no apt-get'],
  ['the user is not root', { isRoot: false }, 'this user is not root'],
])('when %s, one line says what to do', async (_, change, reason) => {
  const { read, settings } = makeMachine()
  await expect(ensureSystemPackages({ ...settings, ...change })).rejects.toThrow(
    `served and serve-cli cannot be installed: ${reason}; ${hint}`,
  )
  expect(read('log')).toBeUndefined()
})

test.each([
  ['apt-get fails', 'echo "E: Unable to locate package serve-tools"; exit 100', 'Unable to locate package serve-tools'],
  ['the package lacks the command', '', 'serve-tools did not bring it'],
])('when %s, one line says what to do, and services are allowed again', async (_, onInstall, reason) => {
  const { read, settings } = makeMachine({ onInstall })
  await heard(() =>
    expect(ensureSystemPackages(settings)).rejects.toThrow(
      `served and serve-cli cannot be installed: ${reason}; ${hint}`,
    ),
  )
  expect(read('policy-rc.d')).toBeUndefined()
})

test('an attempt prints that line and continues', async () => {
  const { settings } = makeMachine()
  expect(await heard(() => tryToEnsureSystemPackages({ ...settings, isRoot: false }))).toEqual([
    `sluice: served and serve-cli cannot be installed: this user is not root; ${hint}\n`,
  ])
})

test("apt's reason is the missing network before all that follows from it", () => {
  const output = [
    'Ign:1 http://packages.example bookworm InRelease',
    'Err:1 http://packages.example bookworm InRelease',
    "W: Failed to fetch http://packages.example/InRelease  Temporary failure resolving 'packages.example'",
    'E: Unable to locate package redis-server',
  ].join('\n')
  expect(aptReason(output)).toBe(
    "Failed to fetch http://packages.example/InRelease Temporary failure resolving 'packages.example'",
  )
  expect(aptReason('')).toBe('apt-get gave no reason')
})

test('a file that cannot be run and a directory are no commands', () => {
  const dir = makeTree({ 'bin/served': '', 'bin/serve-cli/file': '' })
  expect(findCommand('served', join(dir, 'bin'))).toBeUndefined()
  expect(findCommand('serve-cli', join(dir, 'bin'))).toBeUndefined()
})

test('a required command that is missing says how to get it', () => {
  expect(() => requireCommand('redis-cli', '/nonexistent')).toThrow(
    'redis-cli is missing; "apt-get install redis-server" as root brings it on Debian and Ubuntu',
  )
})

test("Debian's own places of PostgreSQL are looked at last, the newest version first", () => {
  const dir = makeTree({ '9/bin/initdb': '', '15/bin/initdb': '', '17/bin/initdb': '' })
  const places = defaultPath('/first', dir).split(':')
  expect(places[0]).toBe('/first')
  expect(places.slice(-3)).toEqual(['17', '15', '9'].map((version) => join(dir, version, 'bin')))
  expect(defaultPath('/first', '/nonexistent')).not.toContain('postgresql')
})

test('a package that brings its own directory has brought its command', async () => {
  const { dir, settings } = makeMachine({
    onInstall:
      'mkdir ../later; for name in served serve-cli; do printf x > ../later/$name; chmod +x ../later/$name; done',
  })
  const later = join(dir, 'later')
  const growing = {
    ...settings,
    isRoot: true,
    get path() {
      return existsSync(later) ? `${settings.path}:${later}` : settings.path
    },
  }
  expect(await heard(() => ensureSystemPackages(growing))).toEqual(['sluice: installing serve-tools (once) …\n'])
})
