// The HTTP endpoints of identity providers: access and responses. changes.ts makes the changes.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { JsonRecord } from '../../base/json.ts'
import type { Behaviour } from '../../model/compatibility.ts'
import type { Audit, AuditEventType } from '../../model/event.ts'
import type { IdentityProvider } from '../../model/identity-provider.ts'
import { echoOf, providerToJson } from '../../providers/provider-json.ts'
import { MAX_METADATA_BYTES } from '../../providers/saml-metadata.ts'
import type { Service } from '../../model/service.ts'
import { hasRight } from '../../web/bearer.ts'
import { MalformedInput } from '../../web/form.ts'
import { jsonBody, sendJson } from '../../web/json.ts'
import { queryForm, refuseRepeated } from '../../web/query.ts'
import { auditOriginOf } from '../../web/requester.ts'
import type { RouteConfig } from '../../web/route.ts'
import { isIdleRow, withIdleRows } from './idle-providers.ts'
import { createProviderChanges } from './changes.ts'
import type { ProviderChangeDeps, Written } from './changes.ts'
import { refuseWith, repeating } from './refusal.ts'

/** Dependencies of `providerEndpoints`. */
export interface ProviderDeps extends ProviderChangeDeps {
  readonly behaviour: Behaviour
  readonly audit: Audit
}

/** The scope that a caller needs, unless it is an administrator. */
export type ProviderRight = 'idps.read' | 'idps.write'

/** The route configuration for callers with the right in the zone, and its administrators. */
export const providerRoute = (service: Service, right: ProviderRight, body?: 'json'): RouteConfig => ({
  access: {
    by: 'bearer',
    scopes: [service.scope('admin'), right],
    ofDefaultZone: ['zones.{zone}.admin'],
    acrossZones: true,
  },
  audience: 'api',
  ...(body && { body }),
})

type ById = { Params: { id: string } }

/** `/identity-providers` and below. */
export function providerEndpoints(app: FastifyInstance, deps: ProviderDeps): void {
  const { store, service, behaviour, audit } = deps
  const changes = createProviderChanges(deps)
  const serviceName = service.name
  const route = (right: ProviderRight, body?: 'json'): RouteConfig => providerRoute(service, right, body)
  const reading = { config: route('idps.read'), errorHandler: repeating() }
  const sentRecord = (request: FastifyRequest): JsonRecord =>
    echoOf(jsonBody(request), { raw: flagOf(request, 'rawConfig') })
  const writing = {
    config: route('idps.write', 'json'),
    bodyLimit: MAX_METADATA_BYTES, // metadata is part of a record
    errorHandler: repeating(sentRecord),
  }

  const shown = (request: FastifyRequest, provider: IdentityProvider): JsonRecord => ({
    ...providerToJson(provider, { serviceName, raw: flagOf(request, 'rawConfig') }),
    ...(isIdleRow(provider) && { config: null }),
  })

  /** `<service>.admin` counts only in a token of the default zone. */
  const callerOf = (request: FastifyRequest) => ({
    isServerAdmin:
      request.bearer?.client.zoneId === serviceName && hasRight(request, { scopes: [service.scope('admin')] }, service),
  })

  function report(request: FastifyRequest, type: AuditEventType, { provider, copy }: Written): void {
    const isCreated = copy?.kind === 'insert' && type === 'IdentityProviderModifiedEvent'
    const events = [
      { type, provider },
      ...(copy
        ? [{ type: isCreated ? ('IdentityProviderCreatedEvent' as const) : type, provider: copy.provider }]
        : []),
    ]
    for (const event of events) {
      const { zoneId, id, originKey, type: providerType } = event.provider
      audit({
        type: event.type,
        zoneId,
        principal: id,
        origin: originKey,
        data: `identity provider ${originKey} of type ${providerType}`,
        ...auditOriginOf(request),
      })
    }
  }

  /** Answers what `work` does. */
  async function answer(
    request: FastifyRequest,
    reply: FastifyReply,
    { status = 200, work }: { status?: number; work: () => Promise<unknown> },
  ): Promise<FastifyReply> {
    refuseRepeated(queryForm(request), ['rawConfig', 'active_only', 'originKey'], behaviour)
    return sendJson(reply, await work(), status)
  }

  app.get('/identity-providers', reading, (request, reply) =>
    answer(request, reply, {
      async work() {
        const onlyActive = flagOf(request, 'active_only')
        const originKey = queryForm(request).get('originKey') ?? ''
        const stored = (await store.providers.list(request.zone.id)).map(({ provider }) => provider)
        const all = behaviour.storedProvidersOnly ? stored : withIdleRows(stored, request.zone.id, serviceName)
        const wanted = all.filter(
          provider =>
            (provider.active || (!onlyActive && originKey === '')) &&
            (originKey === '' || provider.originKey === originKey),
        )
        if (originKey !== '' && wanted.length === 0) throw refuseWith(404, 'Provider not found.')
        return wanted.map(provider => shown(request, provider))
      },
    }),
  )

  app.get<ById>('/identity-providers/:id', reading, (request, reply) =>
    answer(request, reply, {
      async work() {
        const found = await store.providers.findForChange(request.zone.id, request.params.id)
        if (!found) throw refuseWith(404, 'Provider not found.')
        return shown(request, found.provider)
      },
    }),
  )

  app.post('/identity-providers', writing, (request, reply) =>
    answer(request, reply, {
      status: 201,
      async work() {
        const show = flagOf(request, 'rawConfig')
        const written = await changes.create(request.zone.id, jsonBody(request), callerOf(request))
        report(request, 'IdentityProviderCreatedEvent', written)
        return providerToJson(written.provider, { serviceName, raw: show })
      },
    }),
  )

  app.put<ById>('/identity-providers/:id', writing, (request, reply) =>
    answer(request, reply, {
      async work() {
        const raw = flagOf(request, 'rawConfig')
        const change = { json: jsonBody(request), caller: callerOf(request) }
        const written = await changes.replace(request.zone.id, request.params.id, change)
        report(request, 'IdentityProviderModifiedEvent', written)
        return providerToJson(written.provider, { serviceName, raw })
      },
    }),
  )

  const deletion = { config: route('idps.write'), errorHandler: repeating() }
  app.delete<ById>('/identity-providers/:id', deletion, (request, reply) =>
    answer(request, reply, {
      async work() {
        const raw = flagOf(request, 'rawConfig')
        const gone = await changes.delete(request.zone.id, request.params.id, callerOf(request))
        if (gone.deleted) report(request, 'EntityDeletedEvent', gone)
        return providerToJson(gone.provider, { serviceName, raw })
      },
    }),
  )

  const statusOf = (request: FastifyRequest): JsonRecord => {
    const value = jsonBody(request)['requirePasswordChange'] ?? null
    if (value !== null && typeof value !== 'boolean') {
      throw new MalformedInput('requirePasswordChange must be true or false')
    }
    return { requirePasswordChange: value }
  }
  const changing = { config: route('idps.write', 'json'), errorHandler: repeating(statusOf) }
  app.patch<ById>('/identity-providers/:id/status', changing, (request, reply) =>
    answer(request, reply, {
      async work() {
        const status = statusOf(request)
        const written = await changes.expirePasswords(request.zone.id, request.params.id, status)
        report(request, 'IdentityProviderModifiedEvent', written)
        return status
      },
    }),
  )
}

const TRUE = new Set(['true', 'on', 'yes', '1'])
const FALSE = new Set(['', 'false', 'off', 'no', '0'])

/** Reads a boolean of the query, false if absent; throws `MalformedInput`. */
export function flagOf(request: FastifyRequest, name: string): boolean {
  const value = (queryForm(request).get(name) ?? '').toLowerCase()
  if (TRUE.has(value)) return true
  if (FALSE.has(value)) return false
  throw new MalformedInput(`${name} must be true or false`)
}
