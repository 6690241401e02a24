// Assembles the endpoints for operators: health, and the limits of the configuration.
import type { FastifyInstance } from 'fastify'
import type { ClientAuthenticator } from '../clients/authentication/authentication.ts'
import type { Clock } from '../base/clock.ts'
import type { Config } from '../config.ts'
import type { Service } from '../model/service.ts'
import { createHealth, healthEndpoints } from '../ops/health.ts'
import type { Health } from '../ops/health.ts'
import type { Log } from '../ops/log.ts'
import { rateLimitingStatusEndpoint } from '../ops/rate-limiting-status.ts'
import { StoreBusy, StoreUnavailable } from '../store/store.ts'
import type { Store } from '../store/store.ts'
import type { KeyRing } from '../token/keys/keys.ts'
import type { TokenReader } from '../token/reader.ts'
import { isLimited } from '../web/limited-mode.ts'

/** Watches the database; `watch` adds the errors of a router's requests, which reveal its failures first. */
export function watchHealth({
  config,
  store,
  keys,
  defaultZoneId,
  clock,
  log,
}: {
  readonly config: Config
  readonly store: Store
  readonly keys: KeyRing
  readonly defaultZoneId: string
  readonly clock: Clock
  readonly log: Log
}): { readonly health: Health; readonly watch: (router: FastifyInstance) => void } {
  // In limited mode the database may be meant to take no writes.
  const check = (): Promise<void> =>
    isLimited(config.operations.limitedMode) ? store.ping() : store.probeWriting(clock.now())
  const health = createHealth({ check, isUnreachable: () => store.isUnreachable(), log })
  store.onReturn(() => {
    void health.probe()
    // What the default zone serves during an outage: the next one may come before anybody asks this process.
    Promise.all([store.zones.find(defaultZoneId), keys.list(defaultZoneId)]).catch(() => {}) // it has come
  })
  const watch = (router: FastifyInstance): void => {
    router.addHook('onError', (_request, _reply, error, done) => {
      if (error instanceof StoreUnavailable && !(error instanceof StoreBusy)) health.suspect()
      done()
    })
  }
  return { health, watch }
}

/** Dependencies of the endpoints of operators. */
interface OpsParts {
  readonly config: Config
  readonly health: Health
  readonly clock: Clock
  readonly service: Service
  readonly authenticator: ClientAuthenticator
  readonly reader: TokenReader
}

/** Registers them. */
export function assembleOps(app: FastifyInstance, parts: OpsParts): void {
  const { config, health, clock } = parts
  healthEndpoints(app, { health })
  rateLimitingStatusEndpoint(app, { ...parts, settings: config.rateLimit, file: config.file, asOf: clock.now() })
}
