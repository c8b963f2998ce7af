import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { makeTree } from '../../scripts/temporary-tree.mjs'
import { brokenAnchors } from '../../site/anchors.mjs'
import { MENU, MODULES } from '../../site/pages.mjs'
import { documentsOf, stagePages } from '../../site/stage.mjs'
import { tidyPage } from '../../site/tidy.mjs'
import { root } from '../packages/project.suite.ts'

const read = (path: string): string => readFileSync(path, 'utf8')
const exportsOf = (dir: string): string[] => {
  const { name, exports } = JSON.parse(read(join(root, dir, 'package.json'))) as { name: string; exports: object }
  const paths = Object.keys(exports).filter((path) => !/internal|\.json$/.test(path))
  return paths.map((path) => name + path.slice(1))
}

describe('the site of the documents', () => {
  it('has every document of docs/ in its menu, once', () => {
    const inDocs = documentsOf(root).filter((path) => path.startsWith('docs/'))
    const inMenu = MENU.flatMap(({ pages }) => pages.map((page) => `docs/${page}.md`))
    expect(inMenu.sort(), 'site/pages.mjs').toEqual(inDocs.sort())
  })

  it('has a reference for everything that can be imported', () => {
    expect([...MODULES.keys()].sort()).toEqual([...exportsOf('.'), ...exportsOf('client')].sort())
    for (const source of MODULES.values()) expect(existsSync(join(root, source)), source).toBe(true)
  })

  it('shows files of the repository that a document links to, and leaves all other links as they are', () => {
    const tree = makeTree({
      'README.md': '# Readme',
      'CHANGELOG.md': '# Changes\n[a](docs/a.md)',
      'docs/a.md':
        '# A\n[b](deep/b.md#part) [log](../CHANGELOG.md) [home](../README.md) [web](https://example.com) [here](#a)',
      'docs/deep/b.md': '# B\n## Part\n[app](../../app/main.mjs) [folder](../../app) `[code](x.md)`',
      'app/main.mjs': 'start()\n',
    })
    const into = join(tree, 'site')
    stagePages(tree, into)
    expect(read(join(into, 'a.md'))).toBe(
      '# A\n[b](./deep/b.md#part) [log](./changelog.md) [home](./index.md) [web](https://example.com) [here](#a)',
    )
    expect(read(join(into, 'deep/b.md'))).toBe(
      '# B\n## Part\n[app](../files/app/main.mjs.md) [folder](../files/app/index.md) `[code](x.md)`',
    )
    expect(read(join(into, 'changelog.md'))).toBe('# Changes\n[a](./a.md)')
    expect(read(join(into, 'files/app/main.mjs.md'))).toBe('# app/main.mjs\n````js\nstart()\n````\n')
    expect(read(join(into, 'files/app/index.md'))).toContain('- `main.mjs`')
  })

  it('has no link to a place that is not in the page', () => {
    const page = '<h2 id="part">Part</h2><a href="#part">a</a><a class="x" href="/base/deep/b.html#no">b</a>'
    const tree = makeTree({
      'index.html': page,
      'deep/b.html':
        '<a href="../index.html#part">c</a><a href="/base/">d</a><a href="/base/gone">e</a><a href="https://f#g">f</a>',
    })
    expect(brokenAnchors(tree, '/base/').sort()).toEqual([
      'deep/b.html: /base/gone: no such page',
      'index.html: /base/deep/b.html#no: no such place',
    ])
  })

  it('has a reference in which types are called by their names', () => {
    const codes = Array.from({ length: 12 }, (_, i) => `\`"CODE_${'ABCDEFGHIJKL'[i]}"\``).join(' \\| ')
    const file = '`Flat`\\<\\{ `domain`: `string`; \\}\\>'
    const page = [
      `| \`code\` | \\| ${codes} | - |`,
      `| \`rules?\` | \\| \`string\` \\| ${file} \\| readonly ${file}[] | The rules. |`,
      '###### Inherited from\n\n`Hidden.add`\n',
      '##### add()\n',
    ].join('\n')
    expect(tidyPage(page, '../sluice.md').split('\n')).toEqual([
      '| `code` | [`ErrorCode`](../sluice.md#errorcode) | - |',
      '| `rules?` | `string` \\| [`RuleFile`](../sluice.md#rulefile) \\| [`RuleFile`](../sluice.md#rulefile)[] | The rules. |',
      '##### add()',
      '',
    ])
  })

  it('is not staged with a link that leads nowhere', () => {
    const tree = makeTree({ 'docs/a.md': '[b](b.md)' })
    expect(() => stagePages(tree, join(tree, 'site'))).toThrow('docs/a.md: there is no docs/b.md')
  })
})
