import { testApi } from './api.suite.ts'

testApi('koa')
