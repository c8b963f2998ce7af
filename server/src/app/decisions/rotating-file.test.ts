import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { RotatingFile } from './rotating-file.ts'

/** A file in a folder of its own. */
function rotating(maxBytes = 100, keep = 2, name = 'log') {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-rotating-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  const told: string[] = []
  const path = join(dir, name)
  const file = new RotatingFile(
    { path, maxBytes, keep },
    { failed: (reason) => told.push(reason), recovered: () => told.push('recovered') },
  )
  onTestFinished(() => file.close())
  const read = (suffix = ''): string => readFileSync(path + suffix, 'utf8')
  return { dir, path, file, told, read }
}

describe('RotatingFile', () => {
  it('appends, also to what was there before, and is not readable by others', async () => {
    const { file, path, read, told } = rotating()
    await file.write('one\n')
    await file.close()
    await file.write('two\n')
    expect(read()).toBe('one\ntwo\n')
    expect(statSync(path).mode & 0o007).toBe(0)
    expect(told).toEqual([])
  })

  it('puts a file aside that would be too long, and keeps so many', async () => {
    const { file, dir, read } = rotating(10, 2)
    for (const name of ['a', 'b', 'c', 'd']) await file.write(`${name.repeat(6)}\n`)
    expect(readdirSync(dir).sort()).toEqual(['log', 'log.1', 'log.2'])
    expect([read(), read('.1'), read('.2')]).toEqual(['dddddd\n', 'cccccc\n', 'bbbbbb\n'])
  })

  it('writes in the order of asking, also while it puts files aside', async () => {
    const { file, read } = rotating(10, 1)
    await Promise.all(['a', 'b', 'c'].map((name) => file.write(`${name.repeat(6)}\n`)))
    expect([read('.1'), read()]).toEqual(['bbbbbb\n', 'cccccc\n'])
  })

  it('continues in a new file after the old one was moved', async () => {
    const { file, path, read } = rotating()
    await file.write('one\n')
    renameSync(path, `${path}.moved`)
    await file.write('two\n')
    await file.reopen()
    await file.write('three\n')
    expect([read('.moved'), read()]).toEqual(['one\ntwo\n', 'three\n'])
  })

  it('reports once that it cannot be written, does not wait, and reports when it can', async () => {
    const { file, path, told, read } = rotating()
    mkdirSync(path)
    await file.write('lost\n')
    await file.write('lost\n')
    expect(told).toEqual(['EISDIR'])
    rmSync(path, { recursive: true })
    await file.write('written\n')
    expect(told).toEqual(['EISDIR', 'recovered'])
    expect(read()).toBe('written\n')
  })

  it('loses what the disk does not keep up with, and reports it', async () => {
    const { file, told } = rotating(1e9)
    const text = 'x'.repeat(1_048_576)
    await Promise.all(Array.from({ length: 20 }, () => file.write(text)))
    expect(told[0]).toBe('the disk does not keep up')
  })

  it('puts no device aside', async () => {
    const file = new RotatingFile({ path: '/dev/null', maxBytes: 1, keep: 1 }, { failed: fail, recovered: fail })
    await file.write('one\n')
    await file.write('two\n')
    expect(existsSync('/dev/null.1')).toBe(false)
    await file.close()
  })
})

function fail(): void {
  throw new Error('told something')
}
