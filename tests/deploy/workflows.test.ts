import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { ROOT } from './image-tree.suite.ts'

interface Workflow {
  readonly permissions: Readonly<Record<string, string>>
  readonly jobs: Readonly<Record<string, Job>>
}
interface Job {
  readonly permissions?: Readonly<Record<string, string>>
  readonly strategy?: { readonly matrix: Readonly<Record<string, readonly (string | number)[]>> }
  readonly steps: readonly { readonly run?: string; readonly uses?: string }[]
}

const FOLDER = join(ROOT, '.github/workflows')
const workflow = (name: string): Workflow => parse(readFileSync(join(FOLDER, name), 'utf8')) as Workflow
const commandsOf = ({ jobs }: Workflow): string =>
  Object.values(jobs)
    .flatMap(({ steps }) => steps.map(({ run }) => run ?? ''))
    .join('\n')

describe.each(readdirSync(FOLDER))('the workflow %s', (name) => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>
  }

  it('runs scripts that there are', () => {
    const commands = commandsOf(workflow(name))
    for (const [, script] of commands.matchAll(/npm run ([\w:-]+)/g)) expect(scripts).toHaveProperty([script])
    for (const [, path] of commands.matchAll(/\b(scripts\/\S+\.mjs)/g)) expect(existsSync(join(ROOT, path))).toBe(true)
  })

  it('may only read, except for jobs that say what they write', () => {
    expect(workflow(name).permissions).toEqual({ contents: 'read' })
  })

  it('runs actions of a given version', () => {
    const used = Object.values(workflow(name).jobs).flatMap(({ steps }) => steps.flatMap(({ uses }) => uses ?? []))
    for (const action of used) expect(action).toMatch(/^[\w-]+\/[\w-]+(\/[\w-]+)?@v\d+$/)
  })
})

describe('the workflows', () => {
  it('test on every Node.js that is supported, on Linux, macOS and Windows', () => {
    const { test, library } = workflow('test.yml').jobs
    expect(test.strategy?.matrix.node).toEqual([20, 22, 24, 26])
    expect(library.strategy?.matrix).toEqual({ os: ['macos-latest', 'windows-latest'], node: [20, 22, 24, 26] })
  })

  it('build the site of the documents', () => {
    expect(commandsOf(workflow('test.yml'))).toContain('npm run docs')
  })

  it('publish what is packed, after the tests, with provenance and a list of what is in it', () => {
    const release = workflow('release.yml')
    expect(release.jobs.npm.permissions).toEqual({ contents: 'write', 'id-token': 'write' })
    expect(release.jobs.npm).toMatchObject({ needs: 'test' })
    const commands = commandsOf(release)
    expect(commands).toContain('npm publish "./$tarball" --provenance')
    for (const name of ['sluice-[0-9]', 'sluice-server-', 'sluice-client-']) {
      expect(commands).toContain(`release/${name}*.tgz`)
    }
    expect(commands).toContain('npm sbom --sbom-format cyclonedx --omit dev')
    for (const name of ['sluice', 'sluice-server', 'sluice-client']) expect(commands).toContain(`${name}.cdx.json`)
    expect(commands).toContain('npm run version:check -- "$GITHUB_REF_NAME"')
  })
})
