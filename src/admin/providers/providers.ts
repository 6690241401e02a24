// The handlers of identity providers. changes.ts makes the changes.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { mapInBatches } from '../../base/concurrency/in-batches.ts'
import type { JsonRecord } from '../../base/json.ts'
import type { AuditEvent } from '../../model/audit/event.ts'
import type { IdentityProvider } from '../../model/zones/identity-provider.ts'
import { echoOf, providerToJson } from '../../providers/provider-json.ts'
import type { On } from '../../web/deferred-routes.ts'
import { MalformedInput } from '../../web/requests/form.ts'
import { jsonBody, sendJson } from '../../web/requests/json.ts'
import { queryForm, refuseRepeated } from '../../web/requests/query.ts'
import { auditOriginOf } from '../../web/requests/requester.ts'
import { serverCallerOf } from '../resources/caller.ts'
import { createShownProviders } from './idle-providers.ts'
import { createProviderChanges } from './changes.ts'
import type { Written } from './changes.ts'
import { providerTestHandler } from './directory-test.ts'
import { flagOf } from './flags.ts'
import { refuseWith, repeating } from './refusal.ts'
import type { SentRecord } from './refusal.ts'
import type { ProviderRoute } from './routes.ts'
import type { AdminDeps } from '../deps.ts'

type ById = { Params: { id: string } }

/** The handlers of `/identity-providers` and everything below it. */
export function providerHandlers(on: On<ProviderRoute>, deps: AdminDeps): void {
  const { store, service, behaviour, audit } = deps
  const changes = createProviderChanges(deps)
  const shown = createShownProviders(deps)
  const serviceName = service.name

  /** As the caller wants them; throws `MalformedInput`, so it is called before anything is written. */
  function writerFor(request: FastifyRequest): (provider: IdentityProvider) => JsonRecord {
    const raw = flagOf(request, 'rawConfig')
    return provider => ({
      ...providerToJson(provider, { serviceName, raw }),
      ...(shown.isIdleRow(provider) && { config: null }),
    })
  }

  const callerOf = (request: FastifyRequest) => serverCallerOf(request, service)

  function report(request: FastifyRequest, type: ChangeEvent, written: Written): void {
    for (const event of eventsOf(type, written)) audit({ ...event, ...auditOriginOf(request) })
  }

  /** The providers of the zone that the query asks for. */
  async function find(request: FastifyRequest): Promise<readonly IdentityProvider[]> {
    const onlyActive = flagOf(request, 'active_only')
    const originKey = queryForm(request).get('originKey') ?? ''
    const all = await shown.list(request.zone.id)
    if (originKey === '') return all.filter(provider => provider.active || !onlyActive)
    const named = all.filter(provider => provider.active && provider.originKey === originKey)
    if (named.length === 0) throw refuseWith(404, 'Provider not found.')
    return named
  }

  /** Sends the result of `work`; a refusal repeats `sent`. */
  async function answer(
    request: FastifyRequest,
    reply: FastifyReply,
    { status = 200, sent, work }: { status?: number; sent?: SentRecord; work: () => Promise<unknown> },
  ): Promise<FastifyReply> {
    return repeating(request, { sent, behaviour }, async () => {
      refuseRepeated(queryForm(request), ['rawConfig', 'active_only', 'originKey'], behaviour)
      return sendJson(reply, await work(), status)
    })
  }

  on('GET /identity-providers', (request, reply) =>
    answer(request, reply, {
      async work() {
        const found = await find(request)
        const show = writerFor(request)
        return mapInBatches(found, provider => Promise.resolve(show(provider)))
      },
    }),
  )

  on<ById>('GET /identity-providers/:id', (request, reply) =>
    answer(request, reply, {
      async work() {
        const found = await store.providers.findForChange(request.zone.id, request.params.id)
        const provider = found?.provider ?? (await shown.idleRow(request.zone.id, request.params.id))
        if (!provider) throw refuseWith(404, 'Provider not found.')
        return writerFor(request)(provider)
      },
    }),
  )

  on('POST /identity-providers', (request, reply) =>
    answer(request, reply, {
      status: 201,
      sent: sentRecord,
      async work() {
        const show = writerFor(request)
        const written = await changes.create(request.zone.id, { json: jsonBody(request), caller: callerOf(request) })
        report(request, 'IdentityProviderCreatedEvent', written)
        return show(written.provider)
      },
    }),
  )

  on<ById>('PUT /identity-providers/:id', (request, reply) =>
    answer(request, reply, {
      sent: sentRecord,
      async work() {
        const show = writerFor(request)
        const change = { json: jsonBody(request), caller: callerOf(request) }
        const row = await shown.idleRow(request.zone.id, request.params.id)
        const written = row
          ? await changes.fillRow(row, change)
          : await changes.replace(request.zone.id, request.params.id, change)
        report(request, row ? 'IdentityProviderCreatedEvent' : 'IdentityProviderModifiedEvent', written)
        return show(written.provider)
      },
    }),
  )

  on<ById>('DELETE /identity-providers/:id', (request, reply) =>
    answer(request, reply, {
      async work() {
        const show = writerFor(request)
        const gone = await changes.delete(request.zone.id, request.params.id, callerOf(request))
        if (gone.deleted) report(request, 'EntityDeletedEvent', gone)
        return show(gone.provider)
      },
    }),
  )

  on<ById>('PATCH /identity-providers/:id/status', (request, reply) =>
    answer(request, reply, {
      sent: statusOf,
      async work() {
        const status = statusOf(request)
        const written = await changes.expirePasswords(request.zone.id, request.params.id, status)
        report(request, 'IdentityProviderModifiedEvent', written)
        return status
      },
    }),
  )

  providerTestHandler(on, deps)
}

const sentRecord = (request: FastifyRequest): JsonRecord =>
  echoOf(jsonBody(request), { raw: flagOf(request, 'rawConfig') })

type ChangeEvent = 'IdentityProviderCreatedEvent' | 'IdentityProviderModifiedEvent' | 'EntityDeletedEvent'

/** The event of the provider, and that of its copy in the other zone. */
function eventsOf(type: ChangeEvent, { provider, copy }: Written): readonly AuditEvent[] {
  if (!copy) return [eventOf(type, provider)]
  const isCreated = copy.kind === 'insert' && type === 'IdentityProviderModifiedEvent'
  const typeOfCopy = isCreated ? 'IdentityProviderCreatedEvent' : type
  return [eventOf(type, provider), eventOf(typeOfCopy, copy.provider)]
}

const eventOf = (event: ChangeEvent, { zoneId, id, originKey, type }: IdentityProvider): AuditEvent => ({
  type: event,
  zoneId,
  principal: id,
  origin: originKey,
  data: `identity provider ${originKey} of type ${type}`,
})

/** The body of `PATCH …/status`, without what is ignored. */
function statusOf(request: FastifyRequest): JsonRecord {
  const value = jsonBody(request)['requirePasswordChange'] ?? null
  if (value !== null && typeof value !== 'boolean') {
    throw new MalformedInput('requirePasswordChange must be true or false')
  }
  return { requirePasswordChange: value }
}
