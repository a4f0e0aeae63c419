// The days of a week, as preferences name them.
export const days = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'] as const;
export type Day = (typeof days)[number];

export const capital = (day: string): string => day[0]!.toUpperCase() + day.slice(1);
