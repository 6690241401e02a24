/** How a client is shown among a person's applications; kept beside the record, which it is no part of. */
export interface ClientMetadata {
  readonly clientId: string
  /** The client's own name. */
  readonly clientName?: string
  readonly showOnHomePage: boolean
  /** Where the application begins; http or https. */
  readonly appLaunchUrl?: string
  /** A PNG in base64; empty where the last change named none. */
  readonly appIcon?: string
  /** The id of the user who made the client, or of the one who made the client that made it. */
  readonly createdBy?: string
}

/** What a change of the metadata sets; a name is kept where none is given. */
export type ClientDescription = Pick<ClientMetadata, 'clientName' | 'showOnHomePage' | 'appLaunchUrl'> & {
  readonly appIcon: string
}
