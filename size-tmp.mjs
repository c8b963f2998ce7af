import { rolldown } from 'rolldown'
for (const [name, code] of [['express', "export * from 'sluice/express'"], ['express rateLimit', "export { rateLimit } from 'sluice/express'"], ['sluice', "export * from 'sluice'"], ['sluice rateLimit', "export {rateLimit} from 'sluice'"],['fastify', "export * from 'sluice/fastify'"],['fetch', "export * from 'sluice/fetch'"]]) {
  const b = await rolldown({ input: 'entry', external: [/^node:/, 'yaml','jose','@redis/client','redis','zod'], plugins: [{name:'e', resolveId(id){ if(id==='entry') return '\0entry'}, load(id){ if(id==='\0entry') return code}}], cwd: process.cwd(), treeshake:true, logLevel:'silent' })
  const { output } = await b.generate({ format:'esm', minify:true })
  const by = {}
  for (const c of output) for (const [id,m] of Object.entries(c.modules??{})) by[id.replace(process.cwd()+'/dist/','')] = m.renderedLength
  console.log(name, output.reduce((s,c)=>s+(c.code?.length??0),0), Object.keys(by).length)
  if (process.argv[2]===name) console.log(Object.entries(by).sort((a,b)=>b[1]-a[1]).slice(0,60).map(([k,v])=>`${v} ${k}`).join('\n'))
}
