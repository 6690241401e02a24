// Closes the pages for accounts of the internal provider where such accounts are kept elsewhere.
import type { FastifyRequest } from 'fastify'
import { switchesIn } from '../accounts/switches.ts'
import { refuseResource } from '../users/refusal.ts'
import type { LoginParts } from './parts.ts'

/** Refuses where accounts of the internal provider are kept elsewhere: 403 as JSON, as the APIs do. */
export async function checkOwnAccounts(
  request: FastifyRequest,
  { store, service }: Pick<LoginParts, 'store' | 'service'>,
): Promise<void> {
  const { ownAccounts } = await switchesIn(request.zone, { store, serviceName: service.name })
  if (ownAccounts) return
  request.audience = 'api'
  throw refuseResource(
    'internal_user_management_disabled',
    'Internal User Creation is currently disabled. External User Store is in use.',
  )
}
