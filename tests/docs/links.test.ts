import { existsSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { describe, expect, it } from 'vitest'
import { anchorsOf, isElsewhere, linksOf, slugOf } from '../../site/links.mjs'
import { documentsOf } from '../../site/stage.mjs'
import { root as rootDir } from '../packages/project.suite.ts'

const root = new URL('../../', import.meta.url)
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8')

/** Returns one line for each link of a document that leads to no file, or to no heading of one. */
function brokenLinks(path: string): string[] {
  return linksOf(read(path)).flatMap(({ target }) => {
    if (isElsewhere(target)) return []
    const [file = '', anchor] = target.split('#')
    const leadsTo = file === '' ? path : posix.join(posix.dirname(path), file)
    if (!existsSync(new URL(leadsTo, root))) return [`${path}: ${target}: no such file`]
    if (anchor === undefined || anchorsOf(read(leadsTo)).includes(anchor)) return []
    return [`${path}: ${target}: no such heading`]
  })
}

describe('links of the documents', () => {
  it.each(['README.md', ...documentsOf(rootDir)])('%s leads to files and headings that there are', (path) => {
    expect(brokenLinks(path)).toEqual([])
  })

  it('of code are none', () => {
    const text = 'See [a](a.md), `[b](b.md)`.\n```md\n[c](c.md)\n```\n![d](d.png "title")\n'
    expect(linksOf(text).map(({ target }) => target)).toEqual(['a.md', 'd.png'])
  })

  it('find headings by the anchors that GitHub gives them', () => {
    expect(slugOf('`/v1/check`: what it’s *for*')).toBe('v1check-what-its-for')
    expect(anchorsOf('# A [link](b.md)\n```sh\n# no heading\n```\n## Twice\n## Twice\n')).toEqual([
      'a-link',
      'twice',
      'twice-1',
    ])
  })
})
