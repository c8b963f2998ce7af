import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/**
 * brokenAnchors returns one line for each link of a built site that leads to no file, or to no place in a page. VitePress looks
 * for pages only.
 */
export function brokenAnchors(dist, base = '/') {
  const pages = readdirSync(dist, { recursive: true }).filter((path) => path.endsWith('.html'))
  const idsOf = rememberedIds(dist)
  return pages.flatMap((page) =>
    hrefsOf(readFileSync(join(dist, page), 'utf8')).flatMap((href) => {
      const [path, anchor = ''] = href.split('#')
      const file = fileOf(dist, base, page, path)
      if (file === undefined) return [`${page}: ${href}: no such page`]
      if (anchor === '' || !file.endsWith('.html') || idsOf(file).has(decodeURIComponent(anchor))) return []
      return [`${page}: ${href}: no such place`]
    }),
  )
}

const hrefsOf = (html) =>
  [...html.matchAll(/<a [^>]*?href="([^"]+)"/g)]
    .map(([, href]) => href.replaceAll('&amp;', '&'))
    .filter((href) => !/^[a-z]+:/.test(href))

function fileOf(dist, base, page, path) {
  if (path === '') return page
  const target = path.startsWith(base) ? path.slice(base.length) : join(dirname(page), path)
  return [target, `${target}.html`, join(target, 'index.html')].find(
    (each) => /\.\w+$/.test(each) && existsSync(join(dist, each)),
  )
}

function rememberedIds(dist) {
  const known = new Map()
  return (file) => {
    const ids =
      known.get(file) ??
      new Set([...readFileSync(join(dist, file), 'utf8').matchAll(/ id="([^"]+)"/g)].map(([, id]) => id))
    known.set(file, ids)
    return ids
  }
}
