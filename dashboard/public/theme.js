// Runs before the first paint, so that a page in the chosen theme does not flash in the other one. The rest is in src/app/theme.ts.
try {
  const theme = localStorage.getItem('sluice-theme')
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme
} catch {
  // A browser that keeps nothing follows the system.
}
