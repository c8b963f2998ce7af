import { compile } from './compiler.mjs'
import { runMain, SetupError } from './setup.mjs'

/** The root has the library, the server and all tests in one: what they share is checked once. */
const projects = { root: '.', client: 'client', dashboard: 'dashboard' }

/** Notes what it knows of a project, so that the next check looks at what has changed. */
function typecheck([name, project]) {
  return compile(project, ['--incremental', '--tsBuildInfoFile', `node_modules/.cache/typecheck/${name}.json`])
}

await runMain(async () => {
  const checked = await Promise.all(Object.entries(projects).map(typecheck))
  for (const { text } of checked) process.stdout.write(text)
  if (!checked.every(({ ok }) => ok)) throw new SetupError('the types do not fit')
})
