// The second factor that a sign-in owes: until it is proven, the person can do nothing else.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Urls } from '../model/urls.ts'
import { PageError } from '../web/answers.ts'
import type { On } from '../web/deferred-routes.ts'
import type { Sessions } from '../web/session.ts'
import type { SignInDemands } from '../web/sign-in-demands.ts'
import type { FactorPage } from './factor-pages.ts'

/** Dependencies of `secondFactorHandlers`. */
export interface SecondFactorDeps {
  readonly sessions: Sessions
  readonly signInDemands: SignInDemands
  readonly urls: Urls
}

/** `GET` and `POST /second_factor`. */
export function secondFactorHandlers(on: On<FactorPage>, { sessions, signInDemands, urls }: SecondFactorDeps): void {
  async function answer(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const visitor = await sessions.visitor(request)
    const demand = visitor && (await signInDemands.open(request, visitor))
    if (demand?.name !== 'second-factor') return reply.redirect(`${urls.ofZone(request.zone)}/`, 302)
    throw new PageError(403, 'Your account needs a second factor. Ask an administrator of this service.')
  }

  on('GET /second_factor', answer)
  on('POST /second_factor', answer)
}
