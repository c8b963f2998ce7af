import { describe, expect, it } from 'vitest'
import { methodPriority, PRIORITY_WORDS, readPriority, rulePriority } from './priority.ts'

describe('a priority', () => {
  it.each([
    ['critical', 0],
    ['write', 1],
    ['read', 2],
    ['test', 3],
    ['0', 0],
    ['3', 3],
    [0, 0],
    [2, 2],
    ['Critical', undefined],
    ['', undefined],
    ['4', undefined],
    [' 0', undefined],
    ['00', undefined],
    [-1, undefined],
    [0.5, undefined],
    [null, undefined],
    [['0'], undefined],
    ['constructor', undefined],
  ])('%j is read as %j', (value, expected) => {
    expect(readPriority(value)).toBe(expected)
  })

  it('has a word for each number', () => {
    expect(PRIORITY_WORDS.map(readPriority)).toEqual([0, 1, 2, 3])
  })

  it.each([
    ['GET', 2],
    ['HEAD', 2],
    ['OPTIONS', 2],
    ['POST', 1],
    ['PUT', 1],
    ['PATCH', 1],
    ['DELETE', 1],
    ['get', 1],
    ['CONNECT', 1],
    [undefined, 1],
  ])('of a method: %s has %d', (method, expected) => {
    expect(methodPriority(method)).toBe(expected)
  })

  it.each<[(number | undefined)[], number | undefined]>([
    [[], undefined],
    [[undefined, undefined], undefined],
    [[undefined, 3], 3],
    [[3, 0, undefined], 0],
    [[2, 1], 1],
  ])('of rules that say %j is %j: the most important counts', (priorities, expected) => {
    expect(rulePriority(priorities.map((priority) => ({ rule: { priority } })))).toBe(expected)
  })
})
