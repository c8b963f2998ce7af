import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, expect, it, onTestFinished } from 'vitest'
import { type Packed, Project, pack } from './project.suite.ts'
import { installRunners, runnerPath } from './runners.suite.ts'

const execute = promisify(execFile)
const CHECKED = fileURLToPath(new URL('./checked.mjs', import.meta.url))

let packed: Packed
beforeAll(async () => {
  await installRunners()
  packed = await pack()
}, 600_000)

it.each(['library', 'client'] as const)('publint and attw find nothing in the %s', async (name) => {
  const project = new Project()
  onTestFinished(() => project.remove())
  const tarball = join(project.folder, 'package.tgz')
  await execute('tar', ['-czf', tarball, '-C', packed[name], `--transform=s,^\\.,package,`, '.'])
  const mainFiles = [
    runnerPath('publint', 'src', 'index-node.js'),
    runnerPath('@arethetypeswrong', 'core', 'dist', 'index.js'),
  ]
  const { stdout } = await execute(process.execPath, [CHECKED, ...mainFiles, tarball, packed[name]])
  expect(JSON.parse(stdout)).toEqual([])
})
