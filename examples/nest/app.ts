// An API behind Nest, on Express. Build and start it: npx tsc -p examples/nest && node examples/nest/dist/app.js
// With REDIS_URL in the environment, all processes share one budget; without, each has its own.
import type { ServerResponse } from 'node:http'
import { Controller, Get, HttpException, Module, Post, Query, Res } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { RateLimit, SkipRateLimit, SluiceModule } from 'sluice/nest'

const redis = process.env.REDIS_URL

@Controller()
export class AppController {
  @Get()
  hello() {
    return 'hello\n'
  }

  // Logging in has a separate limit: few attempts, counted exactly. Successful ones are refunded.
  @Post('login')
  @RateLimit({ limit: 5, window: '15m', algorithm: 'sliding_log', by: 'ip', refund: 'success' })
  login(@Query('password') password: string) {
    if (password !== 'open sesame') throw new HttpException('wrong password', 401)
    return { welcome: true }
  }

  // Reports: one at a time for each caller.
  @Get('report')
  @RateLimit({ limit: 1, algorithm: 'concurrency' })
  async report(@Res({ passthrough: true }) response: ServerResponse, @Query('ms') ms = '1000') {
    await new Promise((resolve) => {
      setTimeout(resolve, Number(ms))
      // A handler that stops because its client left releases the permit.
      response.once('close', resolve)
    })
    return 'a long report\n'
  }

  @Get('health')
  @SkipRateLimit()
  health() {
    return 'well\n'
  }
}

@Module({
  imports: [
    // Every caller: 60 a minute for each API key, and a net ten times as wide for each address. Many people share one
    // address behind NAT, so the net must not catch them; but a client that makes up a new key for every request is
    // caught by it.
    SluiceModule.forRoot({
      ...(redis !== undefined && { redis }),
      identity: { apiKey: true },
      limits: [
        { name: 'key', limit: 60, window: '1m', by: 'api_key' },
        { name: 'net', limit: 600, window: '1m', by: 'ip' },
      ],
    }),
  ],
  controllers: [AppController],
})
export class AppModule {}

const app = await NestFactory.create(AppModule, { logger: false })
await app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1')
console.log(`listening on http://127.0.0.1:${app.getHttpServer().address().port}`)
