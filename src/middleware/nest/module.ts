import { type DynamicModule, type FactoryProvider, Module, type ModuleMetadata, type Provider } from '@nestjs/common'
import { APP_GUARD } from '@nestjs/core'
import { SLUICE_OPTIONS, SluiceGuard, type SluiceOptions } from './guard.ts'
import type { NestRequest } from './http-exchange.ts'

/** Options that need something else of the app first. */
export interface SluiceAsyncOptions<R extends NestRequest = NestRequest> extends Pick<ModuleMetadata, 'imports'> {
  readonly inject?: FactoryProvider['inject']
  // biome-ignore lint/suspicious/noExplicitAny: what is injected, as in every module of Nest
  readonly useFactory: (...injected: any[]) => SluiceOptions<R> | Promise<SluiceOptions<R>>
}

/** Limits all of an app: `imports: [SluiceModule.forRoot({ limit: 100, window: '1m' })]`. */
// biome-ignore lint/complexity/noStaticOnlyClass: a module of Nest is a class
export class SluiceModule {
  static forRoot<R extends NestRequest = NestRequest>(options: SluiceOptions<R>): DynamicModule {
    return moduleOf({ provide: SLUICE_OPTIONS, useValue: options })
  }

  static forRootAsync<R extends NestRequest = NestRequest>(options: SluiceAsyncOptions<R>): DynamicModule {
    const { imports = [], inject = [], useFactory } = options
    return { ...moduleOf({ provide: SLUICE_OPTIONS, useFactory, inject }), imports }
  }
}

function moduleOf(options: Provider): DynamicModule {
  const guard = { provide: APP_GUARD, useExisting: SluiceGuard }
  return { module: SluiceModule, global: true, providers: [options, SluiceGuard, guard], exports: [SluiceGuard] }
}

// Decorators are functions; called as such, they need nothing of the compiler.
Module({})(SluiceModule)
