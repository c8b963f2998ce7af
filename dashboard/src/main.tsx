import './styles/tokens.css'
import './styles/base.css'
import './styles/ui.css'
import './styles/shell.css'
import { render } from 'preact'
import { App } from './app/app.tsx'
import { followLinks } from './state/router.ts'
import { followTheme } from './state/theme.ts'

followTheme()
followLinks()
const root = document.getElementById('app')
if (root !== null) render(<App />, root)
