import { describe, expect, it } from 'vitest'
import { RouteTree } from './route-tree.ts'

/** Has routes of these paths, by which they are named. */
function treeOf(...paths: string[]) {
  const tree = new RouteTree()
  for (const path of paths) tree.add({ name: path, path, upstream: 'app' }, 'route')
  return (path: string) => {
    const match = tree.find(path, path, 'GET', undefined)
    return match && [match.entry.route.name, ...match.values]
  }
}

describe('a tree of routes', () => {
  it('says what parameters stand for, also after it has looked at another branch', () => {
    const find = treeOf('/a/{x}/c', '/{y}/*', '/{y}/{z}/deep/end')
    expect(find('/a/b/c')).toEqual(['/a/{x}/c', 'b'])
    expect(find('/a/b/d')).toEqual(['/{y}/*', 'a'])
    expect(find('/a/b/deep/else')).toEqual(['/{y}/*', 'a'])
    expect(find('/a/b/deep/end')).toEqual(['/{y}/{z}/deep/end', 'a', 'b'])
  })

  it('takes nothing for a parameter that is empty', () => {
    const find = treeOf('/users/{id}')
    expect([find('/users/'), find('/users'), find('/users/7')]).toEqual([undefined, undefined, ['/users/{id}', '7']])
  })

  it('leads to what is below a place only where nothing fits better', () => {
    const find = treeOf('/*', '/files/*', '/files/{name}')
    expect([find('/files'), find('/files/a'), find('/files/a/b'), find('/other')]).toEqual([
      ['/files/*'],
      ['/files/{name}', 'a'],
      ['/files/*'],
      ['/*'],
    ])
  })
})
