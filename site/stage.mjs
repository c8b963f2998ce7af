import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, extname, join, posix, relative, sep } from 'node:path'
import { SetupError } from '../scripts/setup.mjs'
import { isElsewhere, linksOf } from './links.mjs'
import { BESIDE } from './pages.mjs'

/** stagePages writes the documents of a repository into an empty folder, with links that lead to pages of the site. */
export function stagePages(root, into) {
  rmSync(into, { recursive: true, force: true })
  const shown = new Set()
  for (const path of documentsOf(root)) {
    const text = readFileSync(join(root, path), 'utf8')
    write(join(into, sitePath(root, path)), withSiteLinks(root, path, text, shown))
  }
  for (const path of filesIn(join(root, 'docs')).filter((each) => extname(each) !== '.md')) {
    cpSync(join(root, 'docs', path), join(into, path), { recursive: true })
  }
  for (const path of shown) write(join(into, sitePath(root, path)), filePage(root, path))
}

/** documentsOf returns the paths of all documents that are pages: those of docs/, and some beside it. */
export function documentsOf(root) {
  const inDocs = filesIn(join(root, 'docs')).filter((path) => extname(path) === '.md')
  return [...inDocs.map((path) => `docs/${path}`), ...[...BESIDE.keys()].filter((path) => existsSync(join(root, path)))]
}

/** withSiteLinks rewrites the links of a document, and notes the files and folders that need a page of their own. */
function withSiteLinks(root, path, text, shown) {
  return linksOf(text).reduceRight((rewritten, { target, start, end }) => {
    if (isElsewhere(target) || target.startsWith('#')) return rewritten
    const [file, anchor] = target.split('#')
    const leadsTo = posix.join(posix.dirname(path), file).replace(/\/$/, '')
    if (!existsSync(join(root, leadsTo))) throw new SetupError(`${path}: there is no ${leadsTo}`)
    if (isShown(leadsTo)) shown.add(leadsTo)
    const place = posix.relative(posix.dirname(sitePath(root, path)), sitePath(root, leadsTo))
    const link = `${place.startsWith('.') ? '' : './'}${place}${anchor === undefined ? '' : `#${anchor}`}`
    return rewritten.slice(0, start) + link + rewritten.slice(end)
  }, text)
}

/** isShown tells whether a path of the repository is neither a document nor a picture of one. */
const isShown = (path) => path !== 'README.md' && !path.startsWith('docs/') && !BESIDE.has(path)

/** sitePath is the page for a path of the repository. */
function sitePath(root, path) {
  if (path === 'README.md') return 'index.md'
  if (BESIDE.has(path)) return BESIDE.get(path)
  if (path.startsWith('docs/')) return path.slice('docs/'.length)
  return statSync(join(root, path)).isDirectory() ? `files/${path}/index.md` : `files/${path}.md`
}

/** filePage shows a file of the repository, or lists those of a folder. */
function filePage(root, path) {
  const absolute = join(root, path)
  if (statSync(absolute).isDirectory()) {
    const list = filesIn(absolute).map((each) => `- \`${each}\``)
    return `# ${path}\nFiles of the repository:\n\n${list.join('\n')}\n`
  }
  const language = { '.mjs': 'js', '.yml': 'yaml' }[extname(path)] ?? extname(path).slice(1)
  return `# ${path}\n\`\`\`\`${language}\n${readFileSync(absolute, 'utf8').trimEnd()}\n\`\`\`\`\n`
}

function filesIn(dir) {
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(dir, join(entry.parentPath, entry.name)).replaceAll(sep, '/'))
    .filter((path) => !/(^|\/)(node_modules|dist)\//.test(path))
    .sort()
}

function write(path, text) {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}
