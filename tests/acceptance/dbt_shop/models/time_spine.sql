{{ config(materialized='table') }}
select cast('2026-11-01' as date) as date_day
