import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { run } from '../cli/sluice-process.suite.ts'

const page = readFileSync(new URL('../../docs/simulate.md', import.meta.url), 'utf8')
const shown = [...page.matchAll(/<!-- run: (.*?) -->\n```\w+\n([^`]*)```/g)].map(
  ([, args, text]) => [args, text] as const,
)

/** Writes the files that the page shows into a folder, and carries out a command line there. */
function ran(args: string) {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-docs-'))
  try {
    for (const [, name, text] of page.matchAll(/<!-- file: (\S+) -->\n```\w+\n([^`]*)```/g)) {
      writeFileSync(join(folder, name), text)
    }
    return run(args.split(' '), { cwd: folder })
  } finally {
    rmSync(folder, { recursive: true })
  }
}

it.each(shown)('docs/simulate.md shows what sluice %s prints', (args, text) => {
  expect(ran(args)).toEqual({ status: 0, stdout: text, stderr: '' })
})

it('docs/simulate.md shows commands', () => {
  expect(shown.length).toBeGreaterThan(1)
})

it('docs/simulate.md has conditions that are accepted, and a workflow of flags that are', () => {
  const conditions = page.split('\n').flatMap((line) => {
    const [, cell] = /^\| (`(?:refused|lost|gained|shadow|unread).*?) \|/.exec(line) ?? []
    return [...(cell ?? '').matchAll(/`([^`]+)`/g)].map(([, condition]) => condition.replace('customer', 'user'))
  })
  expect(conditions.length).toBeGreaterThan(5)
  const args = ['simulate', 'stricter.yaml', '--against', 'rules.yaml', '--traffic', 'access.log', '--json']
  const folder = conditions.map((condition) => ran([...args, `--fail-if=${condition.replaceAll(' ', '')}`].join(' ')))
  expect(folder.map(({ stderr }) => stderr)).toEqual(conditions.map(() => ''))
  const workflow = [...page.matchAll(/```yaml\n([\s\S]*?)```/g)]
    .map(([, text]) => text)
    .find((text) => text.includes('jobs:'))
  const steps = (parse(workflow ?? '') as { jobs: { simulate: { steps: { run?: string }[] } } }).jobs.simulate.steps
  const [, line = ''] = / sluice (simulate .*)/.exec(steps.map((step) => step.run ?? '').join('\n')) ?? []
  const words = line.match(/'[^']*'|\S+/g) ?? []
  const put = (word: string): string =>
    word
      .replace('../before/rules/', 'rules.yaml')
      .replace('rules/', 'stricter.yaml')
      .replace('traffic/sample.log.gz', 'access.log')
  const { status, stderr } = ran(
    words.map((word) => put(word).replace(/^'(.*)'$/, (_, text: string) => text.replaceAll(' ', ''))).join(' '),
  )
  expect({ status, stderr }).toEqual({ status: 2, stderr: '' })
})
