import { EventEmitter } from 'node:events'
import { describe, expect, it } from 'vitest'
import { Terminal } from './terminal.ts'

/** keyboard is a terminal's input that knows what was asked of it. */
class Keyboard extends EventEmitter {
  readonly isTTY: boolean
  readonly asked: string[] = []

  constructor(isTTY = true) {
    super()
    this.isTTY = isTTY
  }

  setRawMode(isRaw: boolean): void {
    this.asked.push(isRaw ? 'raw' : 'cooked')
  }

  resume(): void {
    this.asked.push('resume')
  }

  pause(): void {
    this.asked.push('pause')
  }
}

function opened(keyboard = new Keyboard()) {
  const written: string[] = []
  const pressed: string[] = []
  const terminal = new Terminal({ write: (text) => written.push(text) }, keyboard, (key) => pressed.push(key))
  terminal.open()
  return { terminal, written, pressed, keyboard }
}

describe('Terminal', () => {
  it('draws on its own screen, and gives the old one back, once', () => {
    const { terminal, written, keyboard } = opened()
    terminal.close()
    terminal.close()
    expect(written[0]).toContain('\u001b[?1049h')
    expect(written.slice(1)).toEqual(['\u001b[?7h\u001b[?25h\u001b[?1049l'])
    expect(keyboard.asked).toEqual(['raw', 'resume', 'cooked', 'pause'])
    expect(keyboard.listenerCount('data')).toBe(0)
  })

  it('draws a screen in one write, without clearing it first', () => {
    const { terminal, written } = opened()
    terminal.draw(['a', 'b'])
    expect(written[1]).toBe('\u001b[?2026h\u001b[Ha\u001b[K\r\nb\u001b[K\u001b[J\u001b[?2026l')
    terminal.close()
    terminal.draw(['late'])
    expect(written).toHaveLength(3)
  })

  it('hears keys one by one', () => {
    const { pressed, keyboard } = opened()
    keyboard.emit('data', Buffer.from('r1\u0003'))
    expect(pressed).toEqual(['r', '1', '\u0003'])
  })

  it('listens to no keys where there is no keyboard', () => {
    const { terminal, keyboard } = opened(new Keyboard(false))
    terminal.close()
    expect(keyboard.asked).toEqual([])
  })
})
