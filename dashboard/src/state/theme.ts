import { effect, signal } from '@preact/signals'

export type Theme = 'system' | 'light' | 'dark'
const THEMES: readonly Theme[] = ['system', 'light', 'dark']
const KEY = 'sluice-theme'

export const theme = signal<Theme>(kept())

function kept(): Theme {
  try {
    const value = localStorage.getItem(KEY)
    return THEMES.find((each) => each === value) ?? 'system'
  } catch {
    return 'system'
  }
}

/** followTheme shows the chosen theme, and keeps it for the next visit. */
export function followTheme(): void {
  effect(() => {
    const { value } = theme
    if (value === 'system') delete document.documentElement.dataset.theme
    else document.documentElement.dataset.theme = value
    try {
      localStorage.setItem(KEY, value)
    } catch {
      // A browser that keeps nothing still shows it.
    }
  })
}

export function nextTheme(): void {
  theme.value = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length]
}
