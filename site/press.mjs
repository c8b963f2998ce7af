export { build, serve } from 'vitepress'
