/** A named set of users and groups; its name is the scope that its members may receive in tokens. */
export interface Group {
  readonly zoneId: string
  readonly id: string
  readonly displayName: string
  readonly description?: string
  readonly version: number
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** That a user or a group is inside a group; `origin` is the provider that owns the membership. */
export interface Membership {
  readonly groupId: string
  readonly memberId: string
  readonly memberType: 'USER' | 'GROUP'
  readonly origin: string
}

/** That a group of an external provider stands for a group here. */
export interface ExternalGroup {
  readonly groupId: string
  /** Lower case. */
  readonly externalGroup: string
  readonly origin: string
}
